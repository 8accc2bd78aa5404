"""Objects in settings as data: written to a run folder, compared, and read back where that is safe.

A registered object, or one whose class is a dataclass of plain values, is written as {"kind", "options"}. Anything else
is known by a fingerprint of its code and data: equal ones can be recognised, but they cannot be made from a file.
Nothing is ever imported because a file says so: a class is found only if it is registered, or derived from one of ours
and imported by the caller.
"""

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from .fingerprint import fingerprint, kind_of

_PLAIN = (bool, int, float, str, type(None))
_REGISTRY: dict[str, type] = {}
_EXTENSIBLE: list[type] = []
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
