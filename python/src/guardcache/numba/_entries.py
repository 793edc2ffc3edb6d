"""What numba made of a function, as an entry, and back.

An entry holds what numba's own cache would: object code, bitcode for callers that are compiled later, descriptor,
signature, environments. Two things of it are the producer's alone: names of symbols (see `Names`), and whose it is:
module, name, documentation and lines of the source are those of the function that is asked for.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import llvmlite.binding as ll
from numba import cloudpickle
from numba.core import serialize
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.funcdesc import FunctionDescriptor
from numba.core.runtime import rtsys

from guardcache.llvm import _elf
from guardcache.numba import _lines
from guardcache.numba._names import Names, mangled, numbered

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
    generator: Any
    """The descriptor of what it returns, if it is a generator."""
    environments: list[tuple[str, list[Any]]]
    """Names and constants."""
    lines: _lines.Lines
    """Where the functions stood in their files."""


# ---- storing ----


def dump(result: CompileResult | None, functions: Sequence[FunctionType]) -> bytes:
    """`functions` are those that were told, the one that was compiled first. `CannotStore` says why it can't."""
    if result is None:
        raise CannotStore("numba had it already")
    _check(result)
    library, _, (code, bitcode) = result.library.serialize_using_object_code()
    _check_symbols(_elf.Object(code))
    stored = Stored(
        library,
        code,
        bitcode,
        _portable(result.fndesc),
        result.signature,
        result.objectmode,
        str(result.type_annotation),
        result.reload_init,
        _generator(result),
        _environments(result),
        _lines.of(functions),
    )
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, functions[0]).dump(tuple(stored))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise CannotStore(str(error)) from None
    return buffer.getvalue()


def _portable(descriptor: FunctionDescriptor) -> FunctionDescriptor:
    """Without what is of this process."""
    portable = copy.copy(descriptor)
    portable.typemap = portable.calltypes = portable.global_dict = None
    return portable


def _generator(result: CompileResult) -> FunctionDescriptor | None:
    known = result.target_context._generators.get(result.signature.return_type)
    return None if known is None else _portable(known[0])


def _check(result: CompileResult) -> None:
    if result.lifted:
        raise CannotStore("it uses lifted code, which runs as Python")
    if result.library.has_dynamic_globals:
        raise CannotStore("it uses dynamic globals, addresses of this process: of a ctypes function, or a large array")
    if mangled(result.fndesc) != result.fndesc.mangled_name:
        raise CannotStore("its symbol isn't made as usual")


def _check_symbols(object: _elf.Object) -> None:
    for name in object.undefined():
        if numbered(name):
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
    for initialise in stored.reload_init:
        initialise()
    object = _elf.Object(stored.object)
    _prepare(context, object)
    rename = Names(stored.descriptor, function, object.strong())
    moved = _lines.Moved(object, stored.lines, functions)
    content = moved.put_in(object.renamed(rename))
    library = LoadedLibrary(context.codegen(), rename(stored.library), content, stored.bitcode, rename, moved)
    library.put_in(rename(name) for name in object.defined())
    found = [_environment(rename(name), constants, function) for name, constants in stored.environments]
    environments = {environment.env_name: environment for environment in found}
    own = environments[rename.descriptor.env_name]
    result = CompileResult(
        target_context=context,
        typing_context=context.typing_context,
        library=library,
        environment=own,
        entry_point=context.get_executable(library, rename.descriptor, own),
        fndesc=rename.descriptor,
        type_annotation=stored.annotation,
        signature=stored.signature,
        objectmode=stored.objectmode,
        lifted=(),
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=stored.reload_init,
        referenced_envs=found,
    )
    for name, environment in environments.items():
        library.codegen.set_env(name, environment)
    if stored.generator is not None:
        _put_in_generator(stored, rename, context, library)
    return result


def _prepare(context: Any, object: _elf.Object) -> None:
    """Sees to it that there is all that the object refers to: the engine would end the process where something isn't.

    What numba has ready when it is imported, and its runtime, suffice as a rule. The rest comes with everything that
    numba needs to compile, which takes longer than all else of a hit.
    """
    rtsys.initialize(context)
    if _missing(context, object):
        context.refresh()
        if missing := _missing(context, object):
            raise LookupError(f"it refers to {missing[0]}, which isn't there")


def _missing(context: Any, object: _elf.Object) -> list[str]:
    engine = context.codegen()._engine
    undefined = object.undefined()
    return [name for name in undefined if not engine.is_symbol_defined(name) and not ll.address_of_symbol(name)]


def _put_in_generator(stored: Stored, rename: Names, context: Any, library: LoadedLibrary) -> None:
    """Callers that are compiled later ask for it by its type."""
    descriptor = stored.generator
    descriptor.mangled_name = rename(descriptor.mangled_name)
    descriptor.env_name = rename(descriptor.env_name)
    context.insert_generator(stored.signature.return_type, descriptor, [library])


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, own: FunctionType) -> None:
        super().__init__(file)
        self._own = own

    def persistent_load(self, pid: Any) -> FunctionType:
        return self._own


def _environment(name: str, constants: list[Any], function: FunctionType) -> Environment:
    environment = Environment(function.__globals__)
    environment.env_name = name
    environment.consts[:] = constants
    Environment._memo[name] = environment
    return environment


class LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A library from an entry. Its bitcode is parsed when a caller is compiled that links it, as a rule never."""

    def __init__(
        self,
        codegen: Any,
        name: str,
        object: bytes,
        bitcode: bytes,
        rename: Callable[[str], str],
        moved: _lines.Moved,
    ) -> None:
        super().__init__(codegen, name)
        self._bitcode = bitcode
        self._rename = rename
        self._moved = moved
        self._shared_module: ll.ModuleRef | None = None
        self.enable_object_caching()
        self._set_compiled_object(object)

    def put_in(self, defined: Any) -> None:
        """Hands the object to the process's engine."""
        self._finalize_final_module()
        names = set(defined)
        self._codegen._engine._defined_symbols |= names
        # Recursive calls of functions that are compiled later are resolved among these.
        self._codegen._rtlinker._defined |= names

    def _get_module_for_linking(self) -> ll.ModuleRef:
        if self._shared_module is None:
            self._moved.linked()
            module = ll.parse_bitcode(self._bitcode)
            for values in (module.functions, module.global_variables):
                for value in list(values):
                    value.name = self._rename(value.name)
            self._shared_module = module
        return self._shared_module
