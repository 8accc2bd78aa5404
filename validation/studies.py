"""What the studies share: runs that are kept in folders, and the examples."""

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

from cinnet import EvolutionProblem, Settings, Solution, load
from cinnet.machine import gemm_seconds
from cinnet.solver import run
from cinnet.storage.run_folder import RESULT_FILE, check_folder, configuration

EXAMPLES = Path(__file__).parents[1] / "examples"


def kept_run(
    problem: EvolutionProblem,
    settings: Settings,
    folder: Path,
    *,
    seconds: float = math.inf,
    gemms: float = math.inf,
    reference: bool = True,
) -> Solution:
    """The run of a folder, trained and assessed as far as it is not yet; one that is finished is not repeated.

    Training takes at most so many `seconds`, and so many times that of one GEMM, which the result notes.
    """
    check_folder(folder, configuration(problem, settings))
    solution = load(folder, problem) if (folder / RESULT_FILE).exists() else None
    if solution is None or solution.status == "interrupted":
        unit = gemm_seconds()
        budget = min(seconds, gemms * unit)
        solution = run(problem, settings, budget=budget, folder=folder, notes={"gemm_seconds": unit})
    if solution.status == "interrupted":
        raise SystemExit("interrupted; the same command goes on")
    if not solution.result.is_assessed:
        solution.assess(reference=reference)
    return solution


def example(name: str) -> ModuleType:
    """The module of an example."""
    specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def problem_of(module: ModuleType) -> type[EvolutionProblem]:
    """The problem class that an example defines."""
    (problem,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, EvolutionProblem) and value.__module__ == module.__name__
    )
    return problem
