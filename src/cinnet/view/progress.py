"""What a person sees while training: how far, loss, error, time left. Silent when output is not a terminal."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..training.callbacks import TrainingView
from ..training.records import term_names


@dataclass(frozen=True)
class Display:
    """`watch` is a callback that shows a run's records, `say` shows a line on what is done."""

    watch: Callable[[TrainingView], None]
    say: Callable[[str], None]


@contextmanager
def show_progress(
    title: str, total_steps: int, budget_seconds: float = float("inf"), console: Console | None = None
) -> Iterator[Display]:
    """A display of a run's records; its bar is the share of steps or seconds used."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield Display(lambda view: None, lambda message: None)
        return
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=1.0, state="compiling")

        def watch(view: TrainingView) -> None:
            record = view.record
            used = max(record["step"] / total_steps, record["seconds"] / budget_seconds)
            progress.update(task, completed=min(used, 1.0), state=describe_record(record))

        yield Display(watch, lambda message: progress.update(task, state=message))


def describe_record(record: Mapping[str, float]) -> str:
    """One line on the state of training."""
    terms = term_names(record)
    parts = [f"step {record['step']:.0f}", f"loss {record['loss']:.2e}", *(f"{n} {record[n]:.0e}" for n in terms)]
    if record.get("window"):
        parts.insert(0, f"window {record['window'] + 1:.0f}")
    if "relative_l2_error" in record:
        parts.append(f"error {record['relative_l2_error']:.2e}")
    parts.append(f"held-out residual {record['held_out_residual']:.1e}")
    parts.append(f"{record['step'] / max(record['seconds'], 1e-9):.2g} steps/s")
    return ", ".join(parts)
