"""The adapters in examples/adapters: a second process finds all that a first one compiled, with the same numbers."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "adapters"
KINDS = EXAMPLES / "kinds"

# Lines: an afternoon's work.
LONGEST = 150


class Example(NamedTuple):
    name: str
    needs: tuple[str, ...]
    cold_hits: int
    """Within the first process."""

    @property
    def file(self) -> Path:
        return EXAMPLES / f"{self.name}_cache.py"


ALL = [
    Example("iree", ("iree.compiler", "iree.runtime"), 0),
    Example("openvino", ("openvino",), 2),
    Example("onnxruntime", ("onnxruntime", "onnx"), 0),
    Example("tinygrad", ("tinygrad",), 0),
    Example("loops", (), 2),
]


def is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def run(command: list[str], tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since compilers don't forget within one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GUARDCACHE_")}
    own = {"DEV": "CPU", "CACHEDB": str(tmp_path / "tinygrad.db"), "PYTHONPATH": str(EXAMPLES)}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env={**environment, **own, **variables}, check=False
    )


def told(command: list[str], tmp_path: Path) -> Any:
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def needs(name: str) -> Example:
    example = next(example for example in ALL if example.name == name)
    missing = [module for module in example.needs if not is_there(module)]
    if name == "loops" and shutil.which(os.environ.get("CC", "cc")) is None:
        missing = ["a C compiler"]
    if missing:
        pytest.skip(f"{', '.join(missing)} isn't installed")
    return example


@pytest.mark.parametrize("name", [example.name for example in ALL])
def test_a_second_process_finds_all(name: str, tmp_path: Path) -> None:
    example = needs(name)
    cold, warm = (told([str(example.file), str(tmp_path / "cache")], tmp_path) for _ in range(2))
    assert cold["hits"] == example.cold_hits
    assert cold["lookups"] == warm["lookups"] == warm["hits"] > 0
    assert cold["sha256"] == warm["sha256"]


@pytest.mark.parametrize("name", [example.name for example in ALL])
def test_an_adapter_is_short_and_its_kind_holds(name: str, tmp_path: Path) -> None:
    example = next(example for example in ALL if example.name == name)
    assert len(example.file.read_text().splitlines()) <= LONGEST
    done = run(["-m", "guardcache", "rules", "test", name], tmp_path, GUARDCACHE_KINDS=str(KINDS))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"ok    {name}: ")


def test_the_document_shows_the_example() -> None:
    document = (EXAMPLES.parents[1] / "docs" / "adapters.md").read_text()
    shown = re.findall(r"^```python\n(.*?)^```$", document, re.DOTALL | re.MULTILINE)
    assert len(shown) == 2
    assert all(text in (EXAMPLES / "loops_cache.py").read_text() for text in shown)


def test_recorded_runs_are_as_they_were(tmp_path: Path) -> None:
    """A change of a kind's rules or advice shows here, without its compiler."""
    done = run(["-m", "guardcache", "test", str(KINDS)], tmp_path, GUARDCACHE_KINDS=str(KINDS))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("1 fixture is as it was\n")


def test_loops_have_the_compilers_lines(tmp_path: Path) -> None:
    """A comment ends for the rules where it ends for the compiler."""
    needs("loops")
    program = r"""
        import array, json, sys
        from loops_cache import LoopCompiler, compile_loop, load_loop

        def results(loop):
            return list(loop(array.array("f", [1, 2, 3])))

        compiler = LoopCompiler(sys.argv[1])
        told = []
        for end in "\n", "\r", "\f", "\x1d", "\u2028":
            for number in (1, 2):
                expression = f"x # {ord(end)}{end} + {number}"
                with_cache = results(compiler.loop(expression, 3))
                told.append(with_cache == results(load_loop(compile_loop(expression, by_eight=False))))
        compiler.loop("x + __LINE__", 3)
        print(json.dumps([told, compiler.adapter.lookups[-1].reason]))
    """
    same, reason = told(["-c", textwrap.dedent(program), str(tmp_path / "cache")], tmp_path)
    assert same == [True] * 10
    assert "the compiler's own names" in reason


def test_what_the_document_records_is_tested(tmp_path: Path) -> None:
    """As it is written, it tells of a kind whose rules changed."""
    needs("loops")
    document = (EXAMPLES.parents[1] / "docs" / "adapters.md").read_text()
    (block,) = re.findall(r"^ +```\n(.*?)^ +```$", document, re.DOTALL | re.MULTILINE)
    shutil.copytree(KINDS / "loops", tmp_path / "kinds" / "loops")
    (tmp_path / "my_run.py").write_text("import loops_cache, sys\nsys.argv[1:] = ['cache']\nloops_cache.main()\n")
    (tmp_path / "bin").mkdir()
    for name, arguments in (("python", ""), ("guardcache", "-m guardcache")):
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    *recording, testing = textwrap.dedent(block).splitlines()
    changed = 'printf \'{"format": "guardcache-rules/1", "name": "loops"}\' > kinds/loops/rules.json'
    script = "\n".join(["set -e", *recording, testing, changed, f"if {testing.partition('#')[0]}; then exit 9; fi"])
    own = {name: value for name, value in os.environ.items() if not name.startswith("GUARDCACHE_")}
    own.update(PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}", PYTHONPATH=str(EXAMPLES))
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=own, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 fixture is as it was" in done.stdout


def test_irees_modules_keep_their_names(tmp_path: Path) -> None:
    """The runtime finds a module by its name; where it stands in its source doesn't matter."""
    needs("iree")
    program = """
        import json, sys
        import iree.runtime
        from iree_cache import IreeCompiler, network

        compiler = IreeCompiler(sys.argv[1])
        options = {"input_type": "stablehlo", "target_backends": ["llvm-cpu"]}
        sources = [network("net", 4, 1), network("other", 4, 1), "// moved\\n" + network("net", 4, 1)]
        names = [iree.runtime.load_vm_flatbuffer(compiler.compile(source, **options), driver="local-task").name
                 for source in sources]
        outcomes = [lookup.outcome for lookup in compiler.adapter.lookups]
        compiler.compile(sources[0], input_type="stablehlo", target_backends=["vmvx"])
        print(json.dumps({"names": names, "outcomes": outcomes, "explained": compiler.adapter.explain()}))
    """
    found = told(["-c", textwrap.dedent(program), str(tmp_path / "cache")], tmp_path)
    assert found["names"] == ["net", "other", "net"]
    assert found["outcomes"] == ["miss", "miss", "hit"]
    assert 'target_backends[0] was "llvm-cpu" in the stored run: pass it alike in both' in found["explained"]


def test_irees_functions_may_be_called_loc(tmp_path: Path) -> None:
    """What only looks like a location or a comment, to rules that don't read as IREE's compiler does, counts."""
    needs("iree")
    program = r"""
        import json, sys
        import iree.runtime
        import numpy as np
        from iree_cache import IreeCompiler

        MODULE = "\n".join([
            "module @net {",
            "  func.func @main(%x: VECTOR, %y: VECTOR) -> VECTOR {",
            "    BODY : VECTOR",
            "    return %r : VECTOR",
            "  }",
            "  func.func private @loc(%a: VECTOR, %b: VECTOR) -> VECTOR {",
            "    %d = stablehlo.subtract %a, %b : VECTOR",
            "    return %d : VECTOR",
            "  }",
            "}",
        ])
        compiler = IreeCompiler(sys.argv[1])
        told = []
        for body in (
            "%r = call @loc(%x, %y) : (VECTOR, VECTOR) -> VECTOR //",
            "%r = call @loc(%y, %x) : (VECTOR, VECTOR) -> VECTOR //",
            "// a line ends here too\r %r = stablehlo.add %x, %y",
            "// a line ends here too\r %r = stablehlo.multiply %x, %y",
        ):
            module = MODULE.replace("BODY", body).replace("VECTOR", "tensor<2xf32>")
            flatbuffer = compiler.compile(module, input_type="stablehlo", target_backends=["vmvx"])
            main = iree.runtime.load_vm_flatbuffer(flatbuffer, driver="local-task").main
            result = main(np.array([1, 2], np.float32), np.array([10, 20], np.float32)).to_host().tolist()
            told.append([compiler.adapter.lookups[-1].outcome, result])
        print(json.dumps(told))
    """
    found = told(["-c", textwrap.dedent(program), str(tmp_path / "cache")], tmp_path)
    results = [[-9, -18], [9, 18], [11, 22], [10, 40]]
    assert found == [["miss", result] for result in results]


def test_openvino_serves_a_range_of_batches(tmp_path: Path) -> None:
    needs("openvino")
    program = """
        import json, sys
        from openvino_cache import OpenVinoCompiler, network

        compiler = OpenVinoCompiler(sys.argv[1])
        for batch in (3, 1, 8, 9):
            compiler.compile(network(8, 1), batch)  # whose layers have new numbers each time
        lookups = [(lookup.outcome, lookup.reason) for lookup in compiler.adapter.lookups]
        print(json.dumps({"lookups": lookups, "explained": compiler.adapter.explain()}))
    """
    found = told(["-c", textwrap.dedent(program), str(tmp_path / "cache")], tmp_path)
    assert found["lookups"] == [["miss", "no_key"], ["hit", ""], ["hit", ""], ["miss", "guard_false"]]
    assert "batch <= 8" in found["explained"]
    assert "each range of batch sizes compiles once" in found["explained"]


def test_onnx_values_may_have_other_names(tmp_path: Path) -> None:
    """But for those of inputs and outputs, by which a session is run; external weights are a bypass with its reason."""
    needs("onnxruntime")
    program = """
        import json, sys
        import onnx
        from onnxruntime_cache import OnnxSessions, network

        def renamed(model, old, new):
            for node in model.graph.node:
                for names in (node.input, node.output):
                    names[:] = [new if name == old else name for name in names]
            for value in (*model.graph.output, *model.graph.initializer):
                value.name = new if value.name == old else value.name
            return model.SerializeToString()

        def read():
            return onnx.load_from_string(network(2, 8))

        outside = read()
        outside.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
        sessions = OnnxSessions(sys.argv[1])
        for model in (network(2, 8), renamed(read(), "m0", "inner"), renamed(read(), "t1", "result")):
            sessions.session(model)
        try:
            sessions.session(outside.SerializeToString())
        except Exception:
            pass  # as without an adapter
        print(json.dumps([(lookup.outcome, lookup.reason) for lookup in sessions.adapter.lookups]))
    """
    found = told(["-c", textwrap.dedent(program), str(tmp_path / "cache")], tmp_path)
    assert found[:3] == [["miss", "no_key"], ["hit", ""], ["miss", "no_key"]]


def test_openvino_outputs_keep_the_names_that_users_gave(tmp_path: Path) -> None:
    """Those of OpenVINO's own, which are others in each process, neither count nor can be taken for a user's."""
    needs("openvino")
    program = """
        import json, sys
        import numpy as np
        import openvino
        from openvino import opset13 as ops
        from openvino_cache import OpenVinoCompiler

        def network(*names):
            x = ops.parameter([-1, 2], np.float32, name="x")
            layers = [ops.tanh(x), ops.negative(x)]
            for layer, name in zip(layers, names):
                layer.output(0).get_tensor().set_names({name})
            return openvino.Model(layers, [x], "network")

        compiler = OpenVinoCompiler(sys.argv[1])
        told = []
        for names in (("Result_1", "Result_2"), ("Result_2", "Result_1"), ("Result_1", "Result_2"), (), ()):
            model = network(*names)
            before = [sorted(port.get_names()) for port in model.outputs]
            compiled = compiler.compile(model, 1)
            result = compiled(np.ones((1, 2), np.float32))
            asked = [float(result[name][0, 0]) for name in ("Result_1", "Result_2")] if names else []
            untouched = before == [sorted(port.get_names()) for port in model.outputs]
            named = [sorted(port.get_names()) for port in compiled.outputs]
            outcome = compiler.adapter.lookups[-1].outcome
            told.append([outcome, [round(number, 3) for number in asked], named, untouched])
        print(json.dumps(told))
    """
    found = told(["-c", textwrap.dedent(program), str(tmp_path / "cache")], tmp_path)
    one, two = ["Result_1"], ["Result_2"]
    assert found == [
        ["miss", [0.762, -1.0], [one, two], True],
        ["miss", [-1.0, 0.762], [two, one], True],
        ["hit", [0.762, -1.0], [one, two], True],
        ["miss", [], [["#0"], ["#1"]], True],
        ["hit", [], [["#0"], ["#1"]], True],
    ]


def test_the_benchmark_tells_of_its_worst_process() -> None:
    """The fastest one isn't the one that found too little, or came to other numbers."""
    file = EXAMPLES.parents[1] / "bench" / "frameworks" / "compilers.py"
    bench = runpy.run_path(str(file))["Bench"]("onnxruntime", Path("unused"), repeats=2)
    good = {"seconds": 1.0, "hits": 4, "total": 4, "digest": "right"}
    bad = {"seconds": 2.0, "hits": 3, "total": 4, "digest": "wrong"}
    bench.cold = lambda: bench.fastest(lambda way, turn: good)
    bench.warm = lambda change: bench.fastest(lambda way, turn: bad if (way, turn) == ("ours", 1) else good)
    row = next(bench.rows())
    assert (row["our_hits"], row["own_hits"], row["equal"], row["our_warm_s"]) == (3, 4, False, 1.0)


# Pairs of models that differ where an ONNX graph's nodes, read one by one, don't say so.
ONNX_PAIRS = """
import json, sys
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime_cache import OnnxSessions, describe

FLOAT, node = TensorProto.FLOAT, helper.make_node

def value(name, dims=(2,)):
    return helper.make_tensor_value_info(name, FLOAT, dims)

def constant(*numbers):
    return numpy_helper.from_array(np.array(numbers, np.float32), "w")

def model(nodes, constants=(), inputs=(), functions=(), given=(2,), **parts):
    inputs = [value("x", given), *map(value, inputs)]
    graph = helper.make_graph(nodes, "g", inputs, [value("y")], constants, **parts)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("my", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10).SerializeToString()

def branches(*nodes, of, constants=()):
    # Both branches of an If give what is called `of` outside.
    part = helper.make_graph([node("Identity", [of], ["o"])], "part", [], [value("o")])
    asked = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Cast", ["s"], ["c"], to=TensorProto.BOOL)]
    return model([*asked, *nodes, node("If", ["c"], ["y"], then_branch=part, else_branch=part)], constants)

def swapped(a, b):
    return branches(node("Neg", ["x"], [a]), node("Exp", ["x"], [b]), of="a")

def function(op):
    body = helper.make_function("my", "Mine", ["i"], ["o"], [node(op, ["i"], ["o"])], [helper.make_opsetid("", 20)])
    return model([node("Mine", ["x"], ["y"], domain="my")], functions=[body])

def overridable(*inputs):
    return model([node("Mul", ["x", "w"], ["t"]), node("Neg", ["t"], ["y"])], [constant(3, 3)], inputs)

def sparse(number):
    places = numpy_helper.from_array(np.array([0], np.int64), "places")
    added = helper.make_sparse_tensor(constant(number), places, [2])
    return model([node("Add", ["x", "w"], ["y"])], sparse_initializer=[added])

def second(unnamed, asked):
    # An output without a name isn't an input that isn't there.
    return model([node("Two", ["x"], ["a", unnamed], domain="my"), node("Clip", ["x", asked, "a"], ["y"])])

doubled = node("Add", ["x", "x"], ["y"])
PAIRS = {
    "constants in branches": [branches(of="w", constants=[constant(n, n)]) for n in (1, 5)],
    "outer values in branches": (swapped("a", "b"), swapped("b", "a")),
    "bodies of functions": (function("Neg"), function("Exp")),
    "constants that may be given": (overridable(), overridable("w")),
    "sparse constants": (sparse(1), sparse(9)),
    "shapes": (model([doubled], given=(2,)), model([doubled], given=None)),
}

def result(session):
    feeds = {given.name: np.array([1, 2], np.float32) for given in session.get_inputs()}
    feeds.update({given.name: np.array([7, 7], np.float32) for given in session.get_overridable_initializers()})
    return session.run(None, feeds)[0].tolist()

sessions = OnnxSessions(sys.argv[1])
told = {"unnamed": describe(second("", ""), ()).key != describe(second("b", "b"), ()).key}
for name, pair in PAIRS.items():
    for model in (*pair, *pair):
        options = onnxruntime.SessionOptions()
        plain = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        same = result(sessions.session(model)) == result(plain)
        told.setdefault(name, []).append([sessions.adapter.lookups[-1].outcome, same])
print(json.dumps(told))
"""


def test_onnx_models_that_differ_anywhere_are_others(tmp_path: Path) -> None:
    needs("onnxruntime")
    found = told(["-c", ONNX_PAIRS, str(tmp_path / "cache")], tmp_path)
    assert found.pop("unnamed")
    right = [["miss", True], ["miss", True], ["hit", True], ["hit", True]]
    assert found == dict.fromkeys(found, right)
    assert len(found) == 6


def test_tinygrad_goes_on_where_its_seams_moved(tmp_path: Path) -> None:
    needs("tinygrad")
    program = """
        import json, sys
        import tinygrad_cache
        from guardcache.adapter import SeamsMovedError
        from tinygrad.engine import realize

        adapter = tinygrad_cache.install(sys.argv[1])
        installed = realize.lower_and_compile.__module__
        tinygrad_cache.uninstall()
        own = realize.lower_and_compile.__module__
        realize.lower_and_compile = lambda linear, pool: linear
        try:
            tinygrad_cache.install(sys.argv[1])
        except SeamsMovedError as error:
            print(json.dumps({"installed": installed, "own": own, "told": str(error)}))
    """
    found = told(["-c", textwrap.dedent(program), str(tmp_path / "cache")], tmp_path)
    assert (found["installed"], found["own"]) == ("tinygrad_cache", "tinygrad.engine.realize")
    assert "lower_and_compile takes (linear, pool), not (linear)" in found["told"]
