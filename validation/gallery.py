"""The gallery: every forward example with the default preset, its error and its time.

    python validation/gallery.py [--only advection wave ...]

Runs are kept under runs/gallery and go on if they were interrupted. The table is printed and written to
validation/results/gallery.json, from which `docs/gallery.md` is made, with a picture of every solution.
Exit code 1 if a bar is missed.
"""

import argparse
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from studies import example, kept_run, problem_of

from cinnet.config.presets import resolve_settings

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "gallery.json"
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"
PICTURE_DPI = 70
SECONDS = 600.0
LINEAR, NONLINEAR = 1e-3, 1e-2
FORWARD = {
    "advection": LINEAR,
    "heat_dirichlet": LINEAR,
    "heat_neumann": LINEAR,
    "heat_3d": LINEAR,
    "wave": LINEAR,
    "burgers": NONLINEAR,
    "fisher_kpp": NONLINEAR,
    "kuramoto_sivashinsky": NONLINEAR,
    "swift_hohenberg": NONLINEAR,
    "schroedinger": NONLINEAR,
    "gray_scott": NONLINEAR,
    "shallow_water": NONLINEAR,
    "lotka_volterra": NONLINEAR,
}
INVERSE = [
    "",
    "## Unknowns from data",
    "",
    "- `examples/allen_cahn_inverse.py`: the diffusivity from 200 noisy points, with an interval.",
    "- `examples/kdv_inverse.py`: both coefficients from 500 noisy points.",
    "- `examples/heat_source_inverse.py`: where a rod is heated, an unknown function of space.",
    "",
    "How well that works: [data and unknown parameters](guide/data.md).",
]
HEADINGS = {
    "advection": "Advection at speed 30",
    "heat_dirichlet": "Heat, fixed ends",
    "heat_neumann": "Heat, insulated ends",
    "heat_3d": "Heat in three dimensions",
    "wave": "Wave, as a system",
    "burgers": "Burgers",
    "fisher_kpp": "Fisher-KPP",
    "kuramoto_sivashinsky": "Kuramoto-Sivashinsky",
    "swift_hohenberg": "Swift-Hohenberg",
    "schroedinger": "Nonlinear Schroedinger",
    "gray_scott": "Gray-Scott",
    "shallow_water": "Shallow water",
    "lotka_volterra": "Lotka-Volterra",
}


def code_lines(problem: type) -> int:
    """Lines of user code: of the class, without blank lines and its docstring."""
    lines = [line.strip() for line in inspect.getsource(problem).splitlines()]
    return sum(bool(line) and not line.startswith('"""') for line in lines)


def measured(name: str) -> dict[str, Any]:
    """What the page says of an example; its picture is drawn."""
    module = example(name)
    cls, choices = problem_of(module), getattr(module, "SETTINGS", {})
    problem = cls()
    settings = resolve_settings(problem, grid=module.GRID, **choices)
    solution = kept_run(problem, settings, Path("runs/gallery") / name, seconds=SECONDS)
    PICTURES.mkdir(exist_ok=True)
    figure = solution.plot()
    figure.savefig(PICTURES / f"{name}.png", dpi=PICTURE_DPI)
    plt.close(figure)
    result = solution.result
    return {
        "title": (cls.__doc__ or "").partition("\n")[0],
        "grid": module.GRID,
        "settings": choices,
        "lines": code_lines(cls),
        "relative_l2_error": solution.relative_error(),
        "estimated_error": result.estimated_error,
        "wall_seconds": result.wall_seconds,
        "gemm_seconds": result.notes["gemm_seconds"],
        "status": result.status,
        "verdict": result.verdict,
    }


def met(name: str, one: dict[str, Any]) -> bool:
    return one["relative_l2_error"] <= FORWARD[name] and one["wall_seconds"] <= SECONDS


def page(results: dict[str, dict[str, Any]]) -> str:
    """The table, then the equation and the picture of every example that was measured."""
    rows = [
        "# Gallery",
        "",
        "Problems that nobody tuned for, each one file in `examples/`, solved with the default preset on at most two "
        "cores; a setting that was changed is named. The error is against a closed form, a spectral reference or "
        "SciPy; the estimate is what the residual alone implies. Made by `python validation/gallery.py`.",
        "",
        "| | (N_t, N_x) | lines of code | relative L2 error | estimate | bar | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    sections = []
    for name in FORWARD:
        if name not in results:
            continue
        one = results[name]
        estimate = "" if one["estimated_error"] is None else f"{one['estimated_error']:.1e}"
        settings = "".join(f", {key}={value}" for key, value in one["settings"].items())
        missed = "" if met(name, one) else " (missed)"
        anchor = HEADINGS[name].lower().replace(",", "").replace(" ", "-")
        rows.append(
            f"| [{HEADINGS[name]}](#{anchor}) | {tuple(one['grid'])}{settings} | {one['lines']} | "
            f"{one['relative_l2_error']:.1e} | {estimate} | {FORWARD[name]:.0e}{missed} | {one['wall_seconds']:.0f} |"
        )
        sections += ["", f"## {HEADINGS[name]}", "", f"{one['title']} `examples/{name}.py`"]
        sections += ["", f"![Prediction, reference and error](images/gallery/{name}.png)"]
    return "\n".join(rows + sections + INVERSE) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=sorted(FORWARD), default=list(FORWARD))
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in arguments.only:
        results[name] = one = measured(name)
        RESULTS.write_text(json.dumps(results, indent=2) + "\n")
        PAGE.write_text(page(results))
        print(
            f"{name:22} {one['relative_l2_error']:.2e} (bar {FORWARD[name]:.0e})  {one['wall_seconds']:.0f} s",
            flush=True,
        )
    sys.exit(not all(met(name, results[name]) for name in arguments.only))


if __name__ == "__main__":
    main()
