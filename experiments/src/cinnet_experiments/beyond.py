"""Experiments that the paper does not have: quadrature, exponent, optimizers, time windows, initial weights."""

from typing import Any

from cinnet.config.settings import Stage

from .cells import Cell, Experiment
from .paper import METHOD_KEYS

OPTIMIZER_SECONDS = 60.0
# More steps than any optimizer takes in that time, so that the seconds end the run.
_UNLIMITED_STEPS = 10_000_000


def _quadrature() -> Experiment:
    grid = (20, 128)
    cells = tuple(
        Cell(
            f"N_s = {ratio * grid[0]}",
            rule,
            "allen-cahn",
            "ci-pinn",
            grid,
            overrides={"quadrature": rule, "num_mesh_intervals": ratio * grid[0]},
        )
        for ratio in (1, 2, 4, 8)
        for rule in ("left-rectangle", "product-constant", "product-linear")
    )
    title = "Allen-Cahn equation: quadrature rules over the size of the mesh, grid (20, 128)"
    return Experiment("quadrature", title, "beyond the paper", "mesh", cells, figure="sweep")


def _exponent() -> Experiment:
    cells = tuple(
        Cell(f"{q}", "ci-pinn", "allen-cahn", "ci-pinn", (10, 128), overrides={"temporal_weight": float(q)})
        for q in range(5)
    )
    title = "Allen-Cahn equation: exponent of the temporal weight, grid (10, 128)"
    return Experiment("exponent", title, "beyond the paper", "q", cells, figure="sweep")


_BOTH_NETWORKS = ("pinn", "ci-pinn")


def _row(
    row: str, grid: tuple[int, int], methods: tuple[str, ...], budget: float | None = None, **overrides: Any
) -> list[Cell]:
    return [Cell(row, method, "allen-cahn", method, grid, overrides=overrides, budget=budget) for method in methods]


def _optimizers() -> Experiment:
    # One small network for all: the dense methods cannot hold the matrices of the paper's.
    cells = [
        cell
        for optimizer in ("adam", "soap", "levenberg-marquardt", "l-bfgs", "ss-broyden")
        for cell in _row(
            optimizer,
            (10, 128),
            _BOTH_NETWORKS,
            budget=OPTIMIZER_SECONDS,
            hidden=(20, 20, 20),
            stages=(Stage(optimizer, _UNLIMITED_STEPS),),
        )
    ]
    title = f"Allen-Cahn equation: optimizers with {OPTIMIZER_SECONDS:.0f} seconds each, 3x20, grid (10, 128)"
    return Experiment("optimizers", title, "beyond the paper", "optimizer", tuple(cells))


def _windows() -> Experiment:
    cells = [
        cell
        for grid, windows, methods in (
            ((10, 64), 1, tuple(METHOD_KEYS)),
            ((10, 64), 2, tuple(METHOD_KEYS)),
            ((20, 256), 1, tuple(METHOD_KEYS)),
            ((20, 256), 4, tuple(METHOD_KEYS)),
            ((100, 256), 1, ("pinn",)),
        )
        for cell in _row(
            f"({grid[0]}, {grid[1]}), {windows} window{'s' if windows > 1 else ''}", grid, methods, windows=windows
        )
    ]
    title = "Allen-Cahn equation: does a plain PINN still fail, with one window and with several?"
    return Experiment("windows", title, "beyond the paper", "grid and windows", tuple(cells))


def _initial_scale() -> Experiment:
    cells = [
        cell
        for grid in ((10, 64), (20, 256))
        for gain in (0.5, 1.0, 2.0)
        for cell in _row(f"({grid[0]}, {grid[1]}), {gain:g} times Glorot", grid, _BOTH_NETWORKS, initial_gain=gain)
    ]
    title = "Allen-Cahn equation: is it the integral, or that gates halve the local features at the start?"
    return Experiment("initial-scale", title, "beyond the paper", "grid and initial weights", tuple(cells))


OWN_EXPERIMENTS = (_quadrature(), _exponent(), _optimizers(), _windows(), _initial_scale())
