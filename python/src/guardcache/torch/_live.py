"""What PyTorch's live entry knows: an Inductor graph, or an AOT result, which refers to graphs or has them bundled.

An entry that came as bytes alone (from an artifact) is None, and knows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from guardcache.torch._kernels import Kernel


def _halves(entry: Any, attribute: str) -> Iterator[Any]:
    for name in ("compiled_fw", "compiled_bw"):
        half = getattr(entry, name, None)
        if half is not None and hasattr(half, attribute):
            yield getattr(half, attribute)


def _graphs(entry: Any) -> list[Any]:
    """The graph itself, or those that are bundled."""
    return [graph for graph in (entry, *_halves(entry, "result")) if hasattr(graph, "cache_key")]


def halves(entry: Any) -> list[str]:
    """The keys of the graphs that an AOT result refers to."""
    return [key for key, _ in _halves(entry, "fx_graph_cache_info")]


def generated_modules(entry: Any) -> list[str]:
    """PyTorch's keys of the generated sources."""
    return [graph.cache_key for graph in _graphs(entry)]


def kernels(entry: Any) -> Iterator[Kernel]:
    """The files of the kernels that are bundled with graphs."""
    for graph in _graphs(entry):
        bundle = getattr(graph, "_triton_bundle", None)
        for kernel in getattr(bundle, "kernel_artifacts", ()):
            folder = f"triton/{kernel.device}/{kernel.kernel_hash}"
            for file in kernel.artifacts:
                yield Kernel(f"{folder}/{file.filename}", file.payload)


def device_types(entry: Any) -> set[str]:
    return {device for graph in _graphs(entry) for device in graph.device_types}


def component_lines(entry: Any) -> Sequence[str]:
    return getattr(entry, "_fx_graph_cache_debug_lines", None) or ()


def extern_libs(entry: Any) -> str | None:
    return getattr(entry, "extern_libs_key", None)


def time_taken_ns(entry: Any) -> int:
    """What compiling took."""
    if hasattr(entry, "forward_time_taken_ns"):
        return int(entry.forward_time_taken_ns + entry.backward_time_taken_ns)
    return int(getattr(entry, "_time_taken_ns", None) or 0)


def take_backend(entry: Any) -> str | None:
    """What Dynamo calls the backend that an AOT result is of, in this process: taken out, since it says nothing to
    others.
    """
    aot_config = getattr(entry, "sanitized_aot_config", None)
    backend: str | None = getattr(aot_config, "precompile_backend_id", None)
    if backend is not None:
        aot_config.precompile_backend_id = None  # type: ignore[union-attr]
    return backend
