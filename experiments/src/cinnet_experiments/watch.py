"""What a person sees while a sweep goes on: done, running with its present error, left. Silent if not a terminal."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cinnet.view.progress import describe_record

from .engines import Event
from .sweep import PROGRESS_FILE, read_result

_MOST_LINES = 8


@dataclass(frozen=True)
class SweepDisplay:
    """`show` takes what happened to a run, `say` a line on what is done before the runs."""

    show: Callable[[Event], None]
    say: Callable[[str], None]


class _Board:
    """The state of a sweep as a table; what is running is read from the folders each time it is drawn."""

    def __init__(self, total: int, done: int, root: Path):
        self._total, self._done, self._root = total, done, root
        self._running: list[str] = []
        self._failed: dict[str, str] = {}
        self._finished: list[str] = []
        self._begun: float | None = None
        self.message = ""

    def take(self, event: Event) -> None:
        self.message = ""
        if event.state == "started":
            self._begun = time.monotonic() if self._begun is None else self._begun
            self._running.append(event.name)
            return
        self._running.remove(event.name)
        if event.state == "finished":
            self._done += 1
            self._finished.append(event.name)
        elif event.state == "failed":
            self._failed[event.name] = event.error

    def __rich__(self) -> Group:
        table = Table(box=None, show_header=False, padding=(0, 1))
        for name in self._finished[-_MOST_LINES:]:
            table.add_row("[green]done", name, self._error(name))
        for name, error in list(self._failed.items())[-_MOST_LINES:]:
            table.add_row("[red]failed", name, Text(error))
        for name in self._running:
            table.add_row("[cyan]running", name, self._record(name))
        left = self._total - self._done - len(self._failed) - len(self._running)
        counts = f"{self._done} done, {len(self._running)} running, {left} left, {len(self._failed)} failed"
        words = [counts, self._time_left(left + len(self._running)), self.message]
        return Group(table, Text("  ".join(filter(None, words)), style="bold"))

    def _time_left(self, num_unfinished: int) -> str:
        """As if the runs to come took as long as those of this sweep that are over."""
        num_over = len(self._finished) + len(self._failed)
        if self._begun is None or not num_over or not num_unfinished:
            return ""
        seconds = (time.monotonic() - self._begun) / num_over * num_unfinished
        return f"about {timedelta(seconds=round(seconds))} to go"

    def _record(self, name: str) -> str:
        try:
            return describe_record(json.loads((self._root / name / PROGRESS_FILE).read_text()))
        except (OSError, ValueError):
            return "compiling"

    def _error(self, name: str) -> str:
        result = read_result(self._root / name)
        if result is None or result["relative_l2_error"] is None:
            return ""
        return f"error {result['relative_l2_error']:.2e}, {result['wall_seconds']:.0f} s"


@contextmanager
def show_sweep(total: int, done: int, root: Path, console: Console | None = None) -> Iterator[SweepDisplay]:
    """A live table of a sweep of `total` runs of which some are done."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield SweepDisplay(lambda event: None, lambda message: None)
        return
    board = _Board(total, done, root)

    def say(message: str) -> None:
        board.message = message

    with Live(board, console=console, refresh_per_second=2):
        yield SweepDisplay(board.take, say)
