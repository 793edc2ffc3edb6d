"""One process of `numba_libraries.py` for llvmlite: compiles modules, calls what is in them, and says what came of it.

    llvm_process.py own|ours CACHE FIRST [reversed]

FIRST is the number that the first function has in its name, as compilers number what they make.
"""

import ctypes
import hashlib
import json
import sys
import time

import llvmlite.binding as ll

MODULES = 20

# Of the smallest sum.
TERMS = 300


def text(index: int, number: int) -> tuple[str, str]:
    """A function's name and its module: sums of powers, of another degree each."""
    tag = f"v{number}"
    name = f"_ZN4sums3sumB{len(tag)}{tag}B2abEd"
    terms = "\n".join(
        f"  %p{i} = fmul double %p{i - 1}, %x\n"
        f"  %s{i} = call double @llvm.fma.f64(double %p{i}, double {i}.0, double %s{i - 1})"
        for i in range(1, TERMS + index)
    )
    first = "  %p0 = fadd double %x, 0.0\n  %s0 = call double @sin(double %x)"
    body = f"{first}\n{terms}\n  ret double %s{TERMS - 1 + index}"
    declared = "declare double @sin(double)\ndeclare double @llvm.fma.f64(double, double, double)"
    return name, f"{declared}\ndefine double @{name}(double %x) {{\n{body}\n}}"


def main(side: str, cache: str, first: str, order: str = "") -> None:
    began, cpu = time.perf_counter(), time.process_time()
    if side == "ours":
        import guardcache.llvm

        guardcache.llvm.install(cache)
    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    machine = ll.Target.from_default_triple().create_target_machine(opt=3, jit=True)
    engine = ll.create_mcjit_compiler(ll.parse_assembly(""), machine)
    indices = range(MODULES)
    results = {}
    for index in reversed(indices) if order else indices:
        name, module = text(index, int(first) + index)
        engine.add_module(ll.parse_assembly(module))
        engine.finalize_object()
        call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(engine.get_function_address(name))
        results[index] = call(0.75).hex()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    hits = None
    if side == "ours":
        hits = sum(one.outcome == "hit" and "sums" in one.label for one in guardcache.llvm.current().lookups)
    content = hashlib.sha256(json.dumps(sorted(results.items())).encode()).hexdigest()
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cpu": cpu,
                "hits": hits,
                "total": MODULES,
                "results": content,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
