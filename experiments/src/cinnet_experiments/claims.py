"""Which claims hold in the committed results: each is a sentence and what the measured errors say about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cinnet.config.settings import PRESETS

from .paper import PAPER_EXPERIMENTS

Summary = Mapping[str, Any]
Means = Mapping[str, Mapping[str, float]]
CLEARLY = 10.0
RIGHT, WRONG = 1e-2, 1e-1


@dataclass(frozen=True)
class Finding:
    """Whether a claim holds, and the numbers that say so."""

    holds: bool
    evidence: str


@dataclass(frozen=True)
class Claim:
    """A sentence about an experiment; `judge` looks at the mean errors by row and column."""

    text: str
    experiment: str
    judge: Callable[[Means], Finding]
    of_the_paper: bool = True

    def finding(self, summary: Summary) -> Finding | None:
        """None where a cell was not run or failed, or the summary is of an experiment that has changed since."""
        if any(cell["mean"] is None for cell in summary["cells"]):
            return None
        try:
            return self.judge(mean_errors(summary))
        except (KeyError, ValueError):
            return None


def mean_errors(summary: Summary) -> Means:
    means: dict[str, dict[str, float]] = {}
    for cell in summary["cells"]:
        means.setdefault(cell["row"], {})[cell["column"]] = cell["mean"]
    return means


def _ci_pinn_is_best(means: Means) -> Finding:
    lost = [
        f"{row}: ci-pinn {errors['ci-pinn']:.1e}, {better} {errors[better]:.1e}"
        for row, errors in means.items()
        if (better := min(errors, key=errors.__getitem__)) != "ci-pinn"
    ]
    won = f"smallest in {len(means) - len(lost)} of {len(means)} rows"
    return Finding(not lost, "; ".join([won, *lost]))


def _reaches_the_papers_accuracy(experiment: str) -> Callable[[Means], Finding]:
    cells = next(one.cells for one in PAPER_EXPERIMENTS if one.name == experiment)
    papers = {cell.row: cell.target.mean for cell in cells if cell.column == "ci-pinn" and cell.target is not None}

    def judge(means: Means) -> Finding:
        worse = [
            f"{row}: {means[row]['ci-pinn']:.2e}, the paper {paper:.2e}"
            for row, paper in papers.items()
            if means[row]["ci-pinn"] > paper
        ]
        reached = f"at most the paper's mean in {len(papers) - len(worse)} of {len(papers)} rows"
        return Finding(not worse, "; ".join([reached, *worse]))

    return judge


def _baselines_fail(means: Means, row: str | None = None) -> Finding:
    (errors,) = means.values() if row is None else [means[row]]
    holds = errors["pinn"] > WRONG and errors["ci-pinn"] <= RIGHT
    return Finding(holds, ", ".join(f"{method} {error:.1e}" for method, error in errors.items()))


def _spread(means: Means) -> tuple[float, str]:
    errors = {row: next(iter(columns.values())) for row, columns in means.items()}
    least, most = min(errors, key=errors.__getitem__), max(errors, key=errors.__getitem__)
    return errors[most] / errors[least], f"from {errors[least]:.1e} at {least} to {errors[most]:.1e} at {most}"


def _is_sensitive(means: Means) -> Finding:
    ratio, text = _spread(means)
    return Finding(ratio > CLEARLY, text)


def _always_fails(means: Means) -> Finding:
    _, text = _spread(means)
    return Finding(all(error > WRONG for columns in means.values() for error in columns.values()), text)


def _is_insensitive(means: Means) -> Finding:
    ratio, text = _spread(means)
    return Finding(ratio < 2, text)


def _every_part_helps(means: Means) -> Finding:
    errors = {row: columns["ci-pinn"] for row, columns in means.items()}
    whole = errors.pop("temporal weight on, gate on")
    text = f"whole {whole:.1e}; " + "; ".join(f"{row} {error:.1e}" for row, error in errors.items())
    return Finding(all(error > whole for error in errors.values()), text)


def _dense_pinn_works(means: Means) -> Finding:
    ((row, columns),) = means.items()
    return Finding(columns["pinn"] <= RIGHT, f"pinn on {row}: {columns['pinn']:.1e}")


def _linear_rule_is_cheaper(means: Means) -> Finding:
    coarse, fine = means["N_s = 20"]["product-linear"], means["N_s = 80"]["left-rectangle"]
    text = f"product-linear with N_s = N_t {coarse:.1e}, left-rectangle with N_s = 4 N_t {fine:.1e}"
    return Finding(coarse <= fine, text)


def _two_is_the_best_exponent(means: Means) -> Finding:
    errors = {q: columns["ci-pinn"] for q, columns in means.items()}
    return Finding(
        min(errors, key=errors.__getitem__) == "2", ", ".join(f"q = {q}: {e:.1e}" for q, e in errors.items())
    )


def _levenberg_marquardt_is_fastest(means: Means, method: str) -> Finding:
    errors = {optimizer: columns[method] for optimizer, columns in means.items()}
    best = min(errors, key=errors.__getitem__)
    return Finding(best == "levenberg-marquardt", ", ".join(f"{name} {error:.1e}" for name, error in errors.items()))


def _windows_rescue_pinn(means: Means) -> Finding:
    pairs = [("(10, 64), 1 window", "(10, 64), 2 windows"), ("(20, 256), 1 window", "(20, 256), 4 windows")]
    errors = [(means[one]["pinn"], means[several]["pinn"]) for one, several in pairs]
    text = "; ".join(
        f"{several}: pinn {after:.1e} instead of {before:.1e}"
        for (_, several), (before, after) in zip(pairs, errors, strict=True)
    )
    return Finding(all(CLEARLY * after < before for before, after in errors), text)


def _integral_beats_scale(grid: str) -> Callable[[Means], Finding]:
    """The gate halves what CinNet's local features start as, so its gain of 2 compares with a gain of 1 of an MLP."""

    def judge(means: Means) -> Finding:
        pairs = [(means[f"({grid}), {g:g} times Glorot"], means[f"({grid}), {2 * g:g} times Glorot"]) for g in (0.5, 1)]
        ratios = [plain["pinn"] / whole["ci-pinn"] for plain, whole in pairs]
        text = "; ".join(
            f"features {scale}: pinn {plain['pinn']:.1e}, ci-pinn {whole['ci-pinn']:.1e}"
            for scale, (plain, whole) in zip(("halved", "as Glorot's"), pairs, strict=True)
        )
        return Finding(min(ratios) > 1, text)

    return judge


CLAIMS = (
    Claim("CI-PINN has the smallest error on every training grid", "ac-grids", _ci_pinn_is_best),
    Claim("CI-PINN has the smallest error with every weight of the initial value", "ac-weights", _ci_pinn_is_best),
    Claim("a plain PINN fails on Allen-Cahn where CI-PINN succeeds", "ac-metrics", _baselines_fail),
    Claim("a plain PINN fails on Korteweg-de Vries where CI-PINN succeeds", "kdv", _baselines_fail),
    Claim("a plain PINN fails on Cahn-Hilliard where CI-PINN succeeds", "cahn-hilliard", _baselines_fail),
    Claim("a plain PINN fails on 2-D Allen-Cahn where CI-PINN succeeds", "allen-cahn-2d", _baselines_fail),
    Claim("a plain PINN succeeds on a dense grid", "ac-dense-pinn", _dense_pinn_works),
    Claim("Causal PINN is highly sensitive to epsilon on Allen-Cahn", "ac-epsilon", _is_sensitive),
    Claim("Causal PINN fails on Korteweg-de Vries with every epsilon", "kdv-epsilon", _always_fails),
    Claim("Causal PINN is highly sensitive to epsilon on Korteweg-de Vries", "kdv-epsilon", _is_sensitive, False),
    Claim("Causal PINN is highly sensitive to epsilon on Cahn-Hilliard", "cahn-hilliard-epsilon", _is_sensitive),
    Claim("Causal PINN is highly sensitive to epsilon on 2-D Allen-Cahn", "allen-cahn-2d-epsilon", _is_sensitive),
    *(
        Claim(f"CI-PINN is insensitive to N_s from 4 N_t on, on {equation}", f"{name}-mesh", _is_insensitive)
        for name, equation in (
            ("ac", "Allen-Cahn"),
            ("kdv", "Korteweg-de Vries"),
            ("cahn-hilliard", "Cahn-Hilliard"),
            ("allen-cahn-2d", "2-D Allen-Cahn"),
        )
    ),
    Claim("both the temporal weight and the gate are needed", "cahn-hilliard-ablation", _every_part_helps),
    *(
        Claim(f"CI-PINN reaches the paper's accuracy {where}", name, _reaches_the_papers_accuracy(name), False)
        for name, where in (("ac-grids", "on every training grid"), ("ac-weights", "with every weight"))
    ),
    Claim(
        "a better quadrature rule makes up for a mesh four times finer", "quadrature", _linear_rule_is_cheaper, False
    ),
    Claim("the exponent q = 2 is the best one", "exponent", _two_is_the_best_exponent, False),
    *(
        Claim(
            f"Levenberg-Marquardt is the best at equal time for {method}",
            "optimizers",
            partial(_levenberg_marquardt_is_fastest, method=method),
            False,
        )
        for method in ("ci-pinn", "pinn")
    ),
    Claim(
        "on the whole interval, as in the paper, a plain PINN fails where CI-PINN succeeds",
        "windows",
        partial(_baselines_fail, row="(20, 256), 1 window"),
        False,
    ),
    Claim("time windows alone rescue a plain PINN", "windows", _windows_rescue_pinn, False),
    Claim(
        "on a sparse grid CinNet beats an MLP whose features start at the same size",
        "initial-scale",
        _integral_beats_scale("10, 64"),
        False,
    ),
    Claim(
        "on a dense grid CinNet beats an MLP whose features start at the same size",
        "initial-scale",
        _integral_beats_scale("20, 256"),
        False,
    ),
)


def claims_section(summaries: Sequence[Summary]) -> str:
    """What holds under each preset, as Markdown; claims whose experiment was not run are left to their sections."""
    by_name = {(summary["experiment"], summary["preset"]): summary for summary in summaries}
    lines = []
    for claim in CLAIMS:
        for preset in PRESETS:
            summary = by_name.get((claim.experiment, preset))
            finding = None if summary is None else claim.finding(summary)
            if finding is not None:
                whose = "the paper" if claim.of_the_paper else "ours"
                verdict = "holds" if finding.holds else "**does not hold**"
                cells = (claim.text, whose, f"`{preset}`", verdict, finding.evidence, f"`{claim.experiment}`")
                lines.append(f"| {' | '.join(cells)} |")
    if not lines:
        return ""
    header = ["| claim | whose | preset | | mean errors | experiment |", "| --- | --- | --- | --- | --- | --- |"]
    introduction = (
        f"Judged by the mean errors below: a method fails if its error is above {WRONG:g} and succeeds if it is at "
        f"most {RIGHT:g}; sensitive means that errors differ by more than {CLEARLY:g} times, insensitive by less than "
        "twice. One seed that fails can make a mean; where only some do, the tables say how many.\n"
    )
    return "\n".join(["## Which claims hold with better optimizers", "", introduction, *header, *lines, ""])
