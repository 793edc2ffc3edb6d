"""What numba made of a function, as an entry, and back.

An entry holds what numba's own cache would: object code, bitcode for callers that are compiled later, descriptor,
signature, environments. Two things of it are the producer's alone. Names: numba numbers the functions of a process,
and the numbers are in every symbol; a hit gets numbers that this process has given to nobody. And whose it is: module,
name, documentation and lines of the source are those of the function that is asked for.
"""

from __future__ import annotations

import io
import pickle
import re
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import llvmlite.binding as ll
from numba import cloudpickle
from numba.core import serialize
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.funcdesc import FunctionDescriptor

from guardcache.llvm import _elf
from guardcache.numba import _lines

# ``B2v7``: the number of a function of the process, in a mangled name; a tag with its flags follows.
_NUMBER = re.compile(r"B\d+v(\d+)(?=B\d)")

_ENVIRONMENT = "_ZN08NumbaEnv"
_OWN = "function"


class CannotStore(Exception):  # noqa: N818 -- it's an answer, not a fault
    """Why it's of no use to another process. The text is for people."""


class Stored(NamedTuple):
    """The payload, pickled."""

    library: str
    object: bytes
    bitcode: bytes
    """Of the module that callers link into theirs."""
    descriptor: FunctionDescriptor
    signature: Any
    objectmode: bool
    annotation: str
    reload_init: Any
    environments: list[tuple[str, list[Any]]]
    """Names and constants."""
    lines: _lines.Lines
    """Where the functions stood in their files."""


# ---- storing ----


def dump(result: CompileResult, functions: Sequence[FunctionType]) -> bytes:
    """`functions` are those that were told, the one that was compiled first. `CannotStore` says why it can't."""
    _check(result)
    library, _, (code, bitcode) = result.library.serialize_using_object_code()
    _check_symbols(_elf.Object(code))
    descriptor = result.fndesc
    descriptor.typemap = descriptor.calltypes = descriptor.global_dict = None
    stored = Stored(
        library,
        code,
        bitcode,
        descriptor,
        result.signature,
        result.objectmode,
        str(result.type_annotation),
        result.reload_init,
        _environments(result),
        _lines.of(functions),
    )
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, functions[0]).dump(tuple(stored))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise CannotStore(str(error)) from None
    return buffer.getvalue()


def _check(result: CompileResult) -> None:
    if result.lifted:
        raise CannotStore("it has loops or blocks that run as Python")
    if result.library.has_dynamic_globals:
        raise CannotStore("it has addresses of this process in it: a ctypes function, or a large array")


def _check_symbols(object: _elf.Object) -> None:
    for name in object.undefined():
        if _NUMBER.search(name):
            raise CannotStore(f"it calls code that is elsewhere in this process: {name}")


def _environments(result: CompileResult) -> list[tuple[str, list[Any]]]:
    """Of all functions that are in the library."""
    found = {result.environment.env_name: list(result.environment.consts)}
    for variable in result.library._final_module.global_variables:
        if variable.name.startswith(_ENVIRONMENT) and (environment := lookup_environment(variable.name)) is not None:
            found[variable.name] = list(environment.consts)
    return list(found.items())


class _Pickler(serialize.NumbaPickler):  # type: ignore[misc]
    """The function that was compiled is put in by whoever loads it; other functions and classes by their names.

    What has none would come back as a copy, of which ``isinstance`` says no.
    """

    def __init__(self, file: io.BytesIO, own: FunctionType) -> None:
        super().__init__(file, protocol=4)
        self._own = own

    def persistent_id(self, obj: Any) -> str | None:
        return _OWN if obj is self._own else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (type, FunctionType)) and not cloudpickle.cloudpickle._should_pickle_by_reference(obj):
            raise CannotStore(f"no other process finds {obj.__qualname__} under its name")
        return super().reducer_override(obj)


# ---- loading ----


def load(payload: bytes | memoryview, functions: Sequence[FunctionType], context: Any) -> CompileResult:
    """What numba would have made; whatever is raised says that the entry is of no use."""
    function = functions[0]
    stored = Stored(*_Unpickler(io.BytesIO(payload), function).load())
    fresh = _Fresh()
    for initialise in stored.reload_init:
        initialise()
    object = _elf.Object(stored.object)
    library = LoadedLibrary(context.codegen(), fresh(stored.library), object.renamed(fresh), stored.bitcode, fresh)
    library.put_in(fresh(name) for name in object.defined())
    environments = {fresh(name): _environment(fresh(name), consts, function) for name, consts in stored.environments}
    descriptor = _owned(stored.descriptor, function, fresh)
    own = environments[descriptor.env_name]
    result = CompileResult(
        target_context=context,
        typing_context=context.typing_context,
        library=library,
        environment=own,
        entry_point=context.get_executable(library, descriptor, own),
        fndesc=descriptor,
        type_annotation=stored.annotation,
        signature=stored.signature,
        objectmode=stored.objectmode,
        lifted=(),
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=stored.reload_init,
        referenced_envs=list(environments.values()),
    )
    for name, environment in environments.items():
        library.codegen.set_env(name, environment)
    _lines.moved(object, stored.lines, functions)
    return result


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, own: FunctionType) -> None:
        super().__init__(file)
        self._own = own

    def persistent_load(self, pid: Any) -> FunctionType:
        return self._own


class _Fresh:
    """Names with numbers that nobody in this process has."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        return _NUMBER.sub(self._number, name)

    def _number(self, match: re.Match[str]) -> str:
        number = self._numbers.get(match[1])
        if number is None:
            number = self._numbers[match[1]] = next(FunctionIdentity._unique_ids)
        return f"B{len(str(number)) + 1}v{number}"


def _environment(name: str, constants: list[Any], function: FunctionType) -> Environment:
    environment = Environment(function.__globals__)
    environment.env_name = name
    environment.consts[:] = constants
    Environment._memo[name] = environment
    return environment


def _owned(descriptor: FunctionDescriptor, function: FunctionType, fresh: Callable[[str], str]) -> FunctionDescriptor:
    """The descriptor of the function that is asked for: its own name and module, and fresh names of symbols."""
    descriptor.modname = function.__module__
    descriptor.qualname = function.__qualname__
    descriptor.doc = function.__doc__ or ""
    descriptor.mangled_name = fresh(descriptor.mangled_name)
    descriptor.env_name = fresh(descriptor.env_name)
    descriptor.uid = next(FunctionIdentity._unique_ids)
    descriptor.unique_name = f"{function.__qualname__}${descriptor.uid}"
    if function.__module__ not in sys.modules:
        descriptor.global_dict = function.__globals__
    return descriptor


class LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A library from an entry. Its bitcode is parsed when a caller is compiled that links it, as a rule never."""

    def __init__(self, codegen: Any, name: str, object: bytes, bitcode: bytes, rename: Callable[[str], str]) -> None:
        super().__init__(codegen, name)
        self._bitcode = bitcode
        self._rename = rename
        self._shared_module: ll.ModuleRef | None = None
        self.enable_object_caching()
        self._set_compiled_object(object)

    def put_in(self, defined: Any) -> None:
        """Hands the object to the process's engine."""
        self._finalize_final_module()
        self._codegen._engine._defined_symbols.update(defined)

    def _get_module_for_linking(self) -> ll.ModuleRef:
        if self._shared_module is None:
            module = ll.parse_bitcode(self._bitcode)
            for values in (module.functions, module.global_variables):
                for value in list(values):
                    value.name = self._rename(value.name)
            self._shared_module = module
        return self._shared_module
