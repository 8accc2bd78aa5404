"""A hash of the code and the data that make up an object of the user's own, equal in every process.

Functions are followed into what they capture and into all that they use of their module; classes into what they
inherit. What comes from a library is known by its name.
"""

import dataclasses
import functools
import hashlib
import json
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_LIBRARIES = sys.stdlib_module_names | {"cinnet", "equinox", "jax", "jaxlib", "numpy", "optax", "scipy"}

_Seen = dict[int, Any]  # objects by id; they are kept, so that no other can have the id meanwhile


def fingerprint(value: Any) -> str:
    """The SHA-256 of all that decides what an object does."""
    digest = hashlib.sha256()
    for part in _content(value, {}):
        digest.update(part)
    return digest.hexdigest()


def kind_of(cls: type) -> str:
    """The name under which a class is written down: short for what is built in."""
    return cls.__qualname__ if cls.__module__.startswith("cinnet.") else f"{cls.__module__}.{cls.__qualname__}"


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES


def _number(value: Any, seen: _Seen) -> int | None:
    """The number of an object that was seen before; None for a new one, which gets one."""
    if id(value) in seen:
        return list(seen).index(id(value))
    seen[id(value)] = value
    return None


@functools.singledispatch
def _content(value: Any, seen: _Seen) -> Iterator[bytes]:
    """The bytes that decide what an object does."""
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        yield f"{array.dtype.str}{array.shape}".encode()
        yield np.ascontiguousarray(array).tobytes()
        return
    yield kind_of(type(value)).encode()
    yield getattr(value, "__qualname__", "").encode()
    if hasattr(value, "__wrapped__"):
        yield from _content(value.__wrapped__, seen)
        return
    is_data = dataclasses.is_dataclass(value)
    if _is_library(type(value).__module__) and not is_data:
        return
    if (number := _number(value, seen)) is not None:
        yield f"object {number}".encode()
        return
    yield from _content(type(value), seen)
    names = [f.name for f in dataclasses.fields(value)] if is_data else sorted(getattr(value, "__dict__", {}))
    for name in names:
        yield name.encode()
        yield from _content(getattr(value, name), seen)


@_content.register(bool)
@_content.register(int)
@_content.register(float)
@_content.register(str)
@_content.register(bytes)
@_content.register(complex)
@_content.register(type(None))
def _(value: Any, seen: _Seen) -> Iterator[bytes]:
    yield f"{type(value).__name__} {value!r}".encode()


@_content.register(frozenset)
@_content.register(set)
def _(value: Any, seen: _Seen) -> Iterator[bytes]:
    yield from _content(sorted(map(repr, value)), seen)


@_content.register(tuple)
@_content.register(list)
def _(value: Any, seen: _Seen) -> Iterator[bytes]:
    yield f"{len(value)} values".encode()
    for one in value:
        yield from _content(one, seen)


@_content.register(Mapping)
def _(value: Any, seen: _Seen) -> Iterator[bytes]:
    for name in sorted(value, key=str):
        yield str(name).encode()
        yield from _content(value[name], seen)


@_content.register(type)
def _(value: Any, seen: _Seen) -> Iterator[bytes]:
    yield kind_of(value).encode()
    if _is_library(value.__module__):
        return
    if (number := _number(value, seen)) is not None:
        yield f"class {number}".encode()
        return
    yield from _content(value.__bases__, seen)
    fields = {f.name for f in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
    for name, member in sorted(vars(value).items()):
        function = getattr(member, "__wrapped__", getattr(member, "fget", getattr(member, "__func__", member)))
        if isinstance(function, types.FunctionType):
            counts = function.__code__.co_filename != "<string>"  # what a dataclass writes itself comes from no file
        else:
            counts = _is_data(member) and not name.startswith("__") and name not in fields
        if counts:
            yield name.encode()
            yield from _content(function, seen)


def _is_data(value: Any) -> bool:
    return isinstance(value, int | float | complex | str | tuple | list | Mapping | type) or hasattr(value, "__array__")


@_content.register(types.ModuleType)
def _(value: Any, seen: _Seen) -> Iterator[bytes]:
    yield value.__name__.encode()


@_content.register(types.MethodType)
def _(value: Any, seen: _Seen) -> Iterator[bytes]:
    yield from _content((value.__func__, value.__self__), seen)


@_content.register(functools.partial)
def _(value: Any, seen: _Seen) -> Iterator[bytes]:
    yield from _content((value.func, value.args, value.keywords), seen)


@_content.register(types.FunctionType)
def _(value: Any, seen: _Seen) -> Iterator[bytes]:
    is_library = _is_library(value.__module__)
    yield from (value.__qualname__.encode(),) if is_library else _code(value.__code__, seen)
    if (number := _number(value, seen)) is not None:
        yield f"function {number}".encode()
        return
    captured = [cell.cell_contents for cell in value.__closure__ or ()]
    used = {} if is_library else _used(value.__globals__, set(_names(value.__code__)))
    yield from _content((value.__defaults__, value.__kwdefaults__, captured, used), seen)


def _code(code: types.CodeType, seen: _Seen) -> Iterator[bytes]:
    yield code.co_code
    yield json.dumps(code.co_names).encode()
    for constant in code.co_consts:
        yield from _code(constant, seen) if isinstance(constant, types.CodeType) else _content(constant, seen)


def _names(code: types.CodeType) -> Iterator[str]:
    """The names of globals and attributes in a function and in those inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _used(scope: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """The values of these names in a module, and in the user's modules that it has."""
    found = {name: scope[name] for name in names if name in scope}
    return {
        name: _used(vars(value), names - {name})
        if isinstance(value, types.ModuleType) and not _is_library(value.__name__)
        else value
        for name, value in found.items()
    }
