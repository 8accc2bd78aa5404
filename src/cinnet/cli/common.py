"""What the commands share: problems by name or by file, run folders, errors in one sentence."""

import difflib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

PROBLEM_SUMMARIES = {
    "allen-cahn": "u_t - d u_xx + r (u^3 - u) = 0 on [-1, 1], periodic",
    "kdv": "u_t + a u u_x + m^2 u_xxx = 0 on [-1, 1], periodic",
    "cahn-hilliard": "u_t + g u_xxxx - d (u^3 - u)_xx = 0 on [-1, 1], periodic",
    "allen-cahn-2d": "u_t - d (u_xx + u_yy) + r (u^3 - u) = 0 on [-1, 1]^2, periodic",
}


class ProblemChoice(click.ParamType):
    """A built-in problem, or a class in a file as path/to/file.py:ClassName."""

    name = "problem"

    def convert(self, value, param, ctx):
        if value in PROBLEM_SUMMARIES or _file_and_class(value) is not None:
            return value
        near = difflib.get_close_matches(value, PROBLEM_SUMMARIES, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Choose one of {', '.join(PROBLEM_SUMMARIES)}"
        own = "" if near else " or give your own as path/to/file.py:ClassName."
        self.fail(f"{value!r} is not a problem. {hint}{own}", param, ctx)

    def shell_complete(self, ctx, param, incomplete):
        from click.shell_completion import CompletionItem

        names = [name for name in PROBLEM_SUMMARIES if name.startswith(incomplete)]
        return [CompletionItem(name, help=PROBLEM_SUMMARIES[name]) for name in names]


class RunFolder(click.Path):
    """A folder that `cinnet solve` made."""

    def __init__(self):
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value, param, ctx):
        folder = super().convert(value, param, ctx)
        assert isinstance(folder, Path)
        if not folder.is_dir():
            self.fail(f"{str(folder)!r} is not a folder.", param, ctx)
        if not (folder / "config.json").is_file():
            self.fail(f"{str(folder)!r} is not a run folder: it has no config.json.", param, ctx)
        return folder


def _file_and_class(text: str) -> tuple[Path, str] | None:
    path, separator, name = text.rpartition(":")
    return (Path(path), name) if separator and path.endswith(".py") and name.isidentifier() else None


def load_problem(text: str) -> Any:
    """The problem that a name or path/to/file.py:ClassName stands for; runs the user's file in the latter case."""
    own = _file_and_class(text)
    if own is None:
        from ..solver import as_problem

        return as_problem(text)
    from ..problems.base import EvolutionProblem

    path, name = own
    if not path.is_file():
        raise click.UsageError(f"the problem file {str(path)!r} does not exist.")
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        raise click.UsageError(f"the problem file {str(path)!r} raised {type(error).__name__}: {error}") from None
    classes = {key: value for key, value in vars(module).items() if _is_problem(value, EvolutionProblem)}
    if name not in classes:
        raise click.UsageError(f"{str(path)!r} has no problem {name!r}; it has {', '.join(classes) or 'none'}.")
    try:
        return classes[name]()
    except Exception as error:
        raise click.UsageError(f"{name}() raised {type(error).__name__}: {error}") from None


def _is_problem(value: Any, base: type) -> bool:
    return isinstance(value, type) and issubclass(value, base) and value is not base


def load_run(folder: Path, problem: str | None) -> Any:
    """The solution in a run folder; a problem of one's own must be named again, since no code is run from folders."""
    from ..solver import load

    with friendly_errors():
        return load(folder, None if problem is None else load_problem(problem))


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Turn what the library says about bad input, and what the disk refuses, into one sentence and exit code 2."""
    try:
        yield
    except (FileExistsError, NotADirectoryError) as error:
        raise click.UsageError(f"{error.filename!r} cannot be made: a file is in the way.") from None
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        raise click.UsageError(f"{error.strerror or error}{place}") from None
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from None
