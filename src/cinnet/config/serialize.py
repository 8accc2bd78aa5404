"""Objects in settings as data: written to a run folder, compared, and read back where that is safe.

A registered object, or one whose class is a dataclass of plain values, is written as {"kind", "options"}. Anything else
is known by a fingerprint of its code and data: equal ones can be recognised, but they cannot be made from a file.
Nothing is ever imported because a file says so: a class is found only if it is registered, or derived from one of ours
and imported by the caller.
"""

import dataclasses
import functools
import hashlib
import importlib
import json
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_PLAIN = (bool, int, float, str, type(None))
_REGISTRY: dict[str, type] = {}
_EXTENSIBLE: list[type] = []
_LIBRARIES = {"builtins", "cinnet", "equinox", "jax", "jaxlib", "numpy", "optax", "scipy"}  # known by name, not by code
_HOMES = ("optimizers", "history", "jets", "objective", "networks")  # of what is built in


class NeedsCodeError(ValueError):
    """Something in a file that only its author's code can make."""


def register(cls: type) -> type:
    """Let instances of a dataclass of plain values be read back from run folders; use it as a decorator."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"register({cls.__name__}): only dataclasses and Equinox modules can be written down.")
    _REGISTRY[kind_of(cls)] = cls
    return cls


def extensible(cls: type) -> type:
    """Let instances of this class, and of all that the caller derives from it, be read back; use it as a decorator."""
    _EXTENSIBLE.append(cls)
    return cls


def kind_of(cls: type) -> str:
    """The name under which a class is written down: short for what is built in."""
    return cls.__qualname__ if cls.__module__.startswith("cinnet.") else f"{cls.__module__}.{cls.__qualname__}"


def to_json(value: Any) -> Any:
    """A setting as JSON."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, tuple | list):
        return [to_json(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): to_json(one) for name, one in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        options = {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
        if all(_is_written(one) for one in options.values()):
            return {"kind": kind_of(type(value)), "options": options, **_code_of_class(type(value))}
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return {"kind": name, "fingerprint": fingerprint(value)}


def from_json(content: Any) -> Any:
    """The setting that `to_json` wrote; tuples for lists."""
    if isinstance(content, list):
        return tuple(from_json(one) for one in content)
    if not isinstance(content, Mapping):
        return content
    if "kind" not in content:
        return {name: from_json(one) for name, one in content.items()}
    if "fingerprint" in content:
        raise NeedsCodeError(f"{content['kind']!r} can only be made by the code of its author; give it again.")
    cls = _known_classes().get(content["kind"])
    if cls is None:
        raise NeedsCodeError(f"the class {content['kind']!r} is not known here; import or register it first.")
    if _code_of_class(cls).get("code") != content.get("code"):
        raise NeedsCodeError(f"the code of {content['kind']!r} has changed since; give the object again.")
    return cls(**{name: from_json(one) for name, one in content["options"].items()})


def needs_code(content: Any) -> bool:
    """Whether something in this JSON can only be made by its author's code."""
    if isinstance(content, list):
        return any(map(needs_code, content))
    if not isinstance(content, Mapping):
        return False
    return "fingerprint" in content or "code" in content or any(map(needs_code, content.values()))


def _is_written(content: Any) -> bool:
    return not needs_code(content) or (isinstance(content, Mapping) and "options" in content)


def _known_classes() -> dict[str, type]:
    """What is registered, and all that the caller has derived from what can be extended."""
    from ..history import TemporalWeight
    from ..jets import Activation
    from ..objective.term import ExtraTerm, Term
    from ..optimizers import Optimizer

    extended = (Activation, ExtraTerm, Optimizer, TemporalWeight, Term, *_EXTENSIBLE)
    known = {kind_of(cls): cls for base in extended for cls in (base, *_subclasses(base))}
    for home in _HOMES:
        module = importlib.import_module(f"cinnet.{home}")
        known |= {kind_of(c): c for c in vars(module).values() if isinstance(c, type) and dataclasses.is_dataclass(c)}
    return known | _REGISTRY


def _subclasses(cls: type) -> Iterator[type]:
    for one in cls.__subclasses__():
        yield one
        yield from _subclasses(one)


def _code_of_class(cls: type) -> dict[str, str]:
    """The fingerprint of the code of a class that is not built in."""
    return {} if cls.__module__.startswith("cinnet.") else {"code": fingerprint(cls)}


def fingerprint(value: Any) -> str:
    """A hash of the code and the data that make up an object, equal in every process."""
    digest = hashlib.sha256()
    for part in _content(value, frozenset()):
        digest.update(part)
    return digest.hexdigest()


_Within = frozenset[int]  # the objects that the present one is a part of, so that a circle ends


@functools.singledispatch
def _content(value: Any, within: _Within) -> Iterator[bytes]:
    """The bytes that decide what an object does."""
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        yield f"{array.dtype.str}{array.shape}".encode()
        yield np.ascontiguousarray(array).tobytes()
        return
    yield kind_of(type(value)).encode()
    yield getattr(value, "__qualname__", "").encode()
    is_data = dataclasses.is_dataclass(value)
    if id(value) in within or (_is_library(type(value).__module__) and not is_data):
        return
    yield from _content(type(value), within)
    names = [f.name for f in dataclasses.fields(value)] if is_data else sorted(getattr(value, "__dict__", {}))
    for name in names:
        yield name.encode()
        yield from _content(getattr(value, name), within | {id(value)})


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES


@_content.register(bool)
@_content.register(int)
@_content.register(float)
@_content.register(str)
@_content.register(bytes)
@_content.register(complex)
@_content.register(type(None))
def _(value: Any, within: _Within) -> Iterator[bytes]:
    yield f"{type(value).__name__} {value!r}".encode()


@_content.register(frozenset)
@_content.register(set)
def _(value: Any, within: _Within) -> Iterator[bytes]:
    yield from _content(sorted(map(repr, value)), within)


@_content.register(tuple)
@_content.register(list)
def _(value: Any, within: _Within) -> Iterator[bytes]:
    yield f"{len(value)} values".encode()
    for one in value:
        yield from _content(one, within)


@_content.register(Mapping)
def _(value: Any, within: _Within) -> Iterator[bytes]:
    for name in sorted(value, key=str):
        yield str(name).encode()
        yield from _content(value[name], within)


@_content.register(type)
def _(value: Any, within: _Within) -> Iterator[bytes]:
    yield kind_of(value).encode()
    if id(value) in within or _is_library(value.__module__):
        return
    for name, member in sorted(vars(value).items()):
        function = getattr(member, "__wrapped__", getattr(member, "fget", getattr(member, "__func__", member)))
        # What a dataclass writes itself comes from no file.
        if isinstance(function, types.FunctionType) and function.__code__.co_filename != "<string>":
            yield name.encode()
            yield from _content(function, within | {id(value)})


@_content.register(types.ModuleType)
def _(value: Any, within: _Within) -> Iterator[bytes]:
    yield value.__name__.encode()


@_content.register(types.MethodType)
def _(value: Any, within: _Within) -> Iterator[bytes]:
    yield from _content((value.__func__, value.__self__), within)


@_content.register(functools.partial)
def _(value: Any, within: _Within) -> Iterator[bytes]:
    yield from _content((value.func, value.args, value.keywords), within)


@_content.register(types.FunctionType)
def _(value: Any, within: _Within) -> Iterator[bytes]:
    yield from (value.__qualname__.encode(),) if _is_library(value.__module__) else _code(value.__code__)
    if id(value) in within:
        return
    captured = [cell.cell_contents for cell in value.__closure__ or ()]
    yield from _content((value.__defaults__, value.__kwdefaults__, captured), within | {id(value)})


def _code(code: types.CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield json.dumps(code.co_names).encode()
    for constant in code.co_consts:
        yield from _code(constant) if isinstance(constant, types.CodeType) else _content(constant, frozenset())
