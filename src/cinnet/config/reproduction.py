"""The command, or where no command can say it the Python call, that repeats a run."""

import dataclasses
from typing import Any

from ..problems import PROBLEMS
from ..problems.base import EvolutionProblem
from .presets import resolve_settings
from .settings import Settings, Stage

_OWN_FLAGS = ("method", "preset", "seed", "num_times", "num_points", "stages")


def reproduction(problem: EvolutionProblem, settings: Settings) -> str:
    """One line that repeats a run, with every setting that differs from the preset's."""
    grid = (settings.num_times, settings.num_points)
    usual = resolve_settings(problem, settings.method, settings.preset, settings.seed, grid)
    ours, theirs = settings.to_json(), usual.to_json()
    changed = {name: getattr(settings, name) for name in ours if name not in _OWN_FLAGS and ours[name] != theirs[name]}
    names = {cls: name for name, cls in PROBLEMS.items()}
    stages = _stage_flags(settings.stages, usual.stages)
    parameters = _changed_parameters(problem)
    needs_python = "network" in changed or not all(_is_plain(value) for value in changed.values())
    if stages is None or parameters or needs_python or problem.is_extended:
        return _python_call(problem, settings, changed, parameters, stages == [])
    place = names.get(type(problem), f"path/to/file.py:{problem.name}")
    flags = ["--method", settings.method, "--preset", settings.preset, "--grid", *map(str, grid)]
    flags += ["--seed", str(settings.seed), *stages]
    for name, value in changed.items():
        flags += ["--" + name.replace("_", "-"), _flag_value(value)]
    return " ".join(["cinnet solve", place, *flags])


def _stage_flags(stages: tuple[Stage, ...], usual: tuple[Stage, ...]) -> list[str] | None:
    """The flags for the stages; None where they need more than flags."""
    if stages == usual:
        return []
    if stages[:-1] == usual[:-1] and dataclasses.replace(stages[-1], steps=usual[-1].steps) == usual[-1]:
        return ["--steps", str(stages[-1].steps)]
    named = isinstance(stages[0].optimizer, str)
    if len(stages) == 1 and named and stages[0] == Stage(stages[0].optimizer, stages[0].steps):
        return ["--optimizer", stages[0].optimizer, "--steps", str(stages[0].steps)]
    return None


def _flag_value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) + ("," if len(value) == 1 else "") if isinstance(value, tuple) else str(value)


def _changed_parameters(problem: EvolutionProblem) -> dict[str, Any]:
    stated = {field.name: field.default for field in dataclasses.fields(problem)}
    changed = {
        name: value
        for name, value in problem.parameters.items()
        if not (isinstance(value, int | float) and value == stated[name])
    }
    return {**changed, **({"observations": "..."} if problem.observations else {})}


def _python_call(problem, settings: Settings, changed: dict[str, Any], parameters: dict[str, Any], usual: bool) -> str:
    made = f"{problem.name}({', '.join(f'{name}={value}' for name, value in parameters.items())})"
    made += f".until({problem.interval.end})" if problem.is_extended else ""
    arguments = [made, repr(settings.method), repr(settings.preset), f"seed={settings.seed}"]
    arguments.append(f"grid=({settings.num_times}, {settings.num_points})")
    arguments += [f"{name}={_text(value)}" for name, value in changed.items()]
    if not usual:
        arguments.append(f"stages={_text(settings.stages)}")
    return f"cinnet.solve({', '.join(arguments)})"


def _is_plain(value: Any) -> bool:
    plain = bool | int | float | str | None
    return isinstance(value, plain) or (isinstance(value, tuple) and all(isinstance(one, plain) for one in value))


def _text(value: Any) -> str:
    """A value as Python text; objects of the user's own by their class alone."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Stage) and not isinstance(value.optimizer, str):
        return f"Stage({_text(value.optimizer)}, {value.steps})"
    return repr(value) if _is_plain(value) or isinstance(value, Stage) else f"{type(value).__name__}(...)"
