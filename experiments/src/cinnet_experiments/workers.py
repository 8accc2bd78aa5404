"""How many runs at a time and with how many threads each. Free of JAX, which reads its threads when it starts."""

import os
from dataclasses import dataclass
from pathlib import Path

ENGINE_NAMES = ("serial", "processes", "ray")
_COMPILED_FOLDER = ".compiled"


class EngineError(ValueError):
    """An engine that cannot work here, or not with these workers and threads."""


@dataclass(frozen=True)
class Workers:
    """How many runs are done at a time, and with how many threads each."""

    count: int
    threads: int

    @classmethod
    def fitting(cls, engine: str, count: int | None = None, threads: int | None = None) -> "Workers":
        """What was asked for, and for the rest what uses all cores: one thread for each of several workers."""
        cores = os.cpu_count() or 1
        if engine == "serial":
            if count not in (None, 1):
                raise EngineError(f"workers={count}: the engine 'serial' does one run at a time; use 'processes'.")
            count = 1
        count = max(1, cores // (threads or 1)) if count is None else count
        workers = cls(count, max(1, cores // count) if threads is None else threads)
        needed = workers.count * workers.threads
        # A Ray cluster may be larger than this machine.
        if engine != "ray" and needed > cores:
            raise EngineError(
                f"workers={workers.count} with threads={workers.threads} need {needed} cores; this machine has {cores}."
            )
        return workers

    def environment(self, root: Path) -> dict[str, str]:
        """The variables that a process must have before it imports JAX; compiled programs are kept below `root`."""
        return {
            **{name: str(self.threads) for name in ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")},
            "JAX_COMPILATION_CACHE_DIR": str(root.absolute() / _COMPILED_FOLDER),
        }
