"""Three ways to do many runs behind one interface: in this process, in processes of this machine, on a Ray cluster.

An engine takes runs as data and yields what happens to them as it happens. All engines call the same function on the
same data in the same folders; with equal threads a run they give equal numbers. Workers keep to runs of one shape while
there are some, so that these share one compilation, and all share JAX's compilation cache on disk.
"""

import abc
import importlib
import importlib.util
import json
import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from cinnet.training.interrupts import stop_requests

from .sweep import Run, perform, record_failure
from .workers import EngineError, Workers

_SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True)
class Event:
    """What happened to a run: it was started, finished, failed or interrupted."""

    name: str
    state: str
    error: str = ""


Engine = Callable[[Sequence[Run], Path, Workers], Iterator[Event]]


def run_serially(all_runs: Sequence[Run], root: Path, workers: Workers) -> Iterator[Event]:
    """One run after the other in this process; its threads are those JAX was started with."""
    for run in all_runs:
        yield Event(run.name, "started")
        event = Event(**perform(run.to_json(), str(root)))
        yield event
        if event.state == "interrupted":
            return


class _Pool(abc.ABC):
    """Workers by number that take a run each and report it later; None means that the worker died."""

    @abc.abstractmethod
    def send(self, worker: int, run: Run) -> None: ...

    @abc.abstractmethod
    def receive(self) -> list[tuple[int, dict[str, Any] | None]]: ...

    @abc.abstractmethod
    def close(self) -> None: ...


def _distribute(all_runs: Sequence[Run], root: Path, count: int, pool: _Pool) -> Iterator[Event]:
    """Give every idle worker a run until none is left; the first Ctrl-C ends what is under way and begins no more."""
    left, idle = list(all_runs), list(range(count))
    at_work: dict[int, Run] = {}
    shapes: dict[int, str] = {}
    try:
        with stop_requests() as stop_requested:
            while left or at_work:
                while left and idle:
                    worker = idle.pop(0)
                    run = _choose(left, shapes.get(worker), {shapes[other] for other in at_work})
                    left.remove(run)
                    at_work[worker], shapes[worker] = run, run.shape
                    pool.send(worker, run)
                    yield Event(run.name, "started")
                for worker, outcome in pool.receive():
                    run = at_work.pop(worker)
                    idle.append(worker)
                    if outcome is None and stop_requested():
                        outcome = {"name": run.name, "state": "interrupted"}
                    elif outcome is None:
                        outcome = record_failure(run, root / run.name, "WorkerDied", "its worker ended without a word")
                    yield Event(**outcome)
                if stop_requested():
                    left.clear()
    finally:
        pool.close()


def _choose(left: Sequence[Run], own_shape: str | None, others: set[str]) -> Run:
    """The next run of a worker: of the shape it has compiled, else of one that nobody works on, else any."""
    same = (run for run in left if run.shape == own_shape)
    new = (run for run in left if run.shape not in others)
    return next(same, None) or next(new, left[0])


class _ProcessPool(_Pool):
    """Worker processes of this machine, each with a pipe that carries JSON."""

    def __init__(self, root: Path, environment: Mapping[str, str]):
        self._root, self._environment = str(root), environment
        self._processes: dict[int, Any] = {}
        self._pipes: dict[int, Connection] = {}

    def send(self, worker: int, run: Run) -> None:
        if worker not in self._pipes:
            self._start(worker)
        self._pipes[worker].send_bytes(json.dumps(run.to_json()).encode())

    def _start(self, worker: int) -> None:
        # A forked copy of a process that runs JAX would hang, so workers begin afresh.
        context = multiprocessing.get_context("spawn")
        self._pipes[worker], theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._root), daemon=True)
        with _environment(self._environment):
            process.start()
        theirs.close()
        self._processes[worker] = process

    def receive(self) -> list[tuple[int, dict[str, Any] | None]]:
        ready = wait(list(self._pipes.values()), timeout=_SECONDS_BETWEEN_LOOKS)
        numbers = {pipe: worker for worker, pipe in self._pipes.items()}
        return [(numbers[pipe], self._read(numbers[pipe])) for pipe in ready if isinstance(pipe, Connection)]

    def _read(self, worker: int) -> dict[str, Any] | None:
        try:
            return json.loads(self._pipes[worker].recv_bytes())
        except (EOFError, ConnectionError):
            self._pipes.pop(worker).close()
            self._processes.pop(worker).join()
            return None

    def close(self) -> None:
        for pipe in self._pipes.values():
            pipe.close()
        for process in self._processes.values():
            process.join(timeout=10)
            if process.is_alive():
                process.terminate()
                process.join()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _serve(pipe: Connection, root: str) -> None:
    """A worker's life: perform what the pipe brings until it closes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Without this a worker would train on after its sweep was killed, in a folder that the next sweep uses.
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    try:
        while True:
            content = json.loads(pipe.recv_bytes())
            pipe.send_bytes(json.dumps(perform(content, root)).encode())
    except (EOFError, ConnectionError, KeyboardInterrupt):
        return


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def run_in_processes(all_runs: Sequence[Run], root: Path, workers: Workers) -> Iterator[Event]:
    """Several runs at a time in processes of this machine."""
    pool = _ProcessPool(root.absolute(), workers.environment(root))
    return _distribute(all_runs, root, min(workers.count, len(all_runs)), pool)


class _RayPool(_Pool):
    """Ray actors; the folders must be reachable from all of them under the same path."""

    def __init__(self, root: Path, workers: Workers):
        ray: Any = importlib.import_module("ray")
        self._ray, self._root = ray, str(root)
        if not ray.is_initialized():
            # With RAY_ADDRESS set this joins that cluster, whose size is not ours to say.
            own = {"num_cpus": workers.count * workers.threads, "include_dashboard": False}
            with warnings.catch_warnings():
                # Ray starts its programs from this process, where JAX warns of every fork, even before an exec.
                warnings.filterwarnings("ignore", message=r"os\.fork\(\)", category=RuntimeWarning)
                ray.init(log_to_driver=False, logging_level="ERROR", **({} if os.environ.get("RAY_ADDRESS") else own))
        options = {"num_cpus": workers.threads, "runtime_env": {"env_vars": workers.environment(root)}}
        self._actor = ray.remote(**options)(_RayWorker)
        self._actors: dict[int, Any] = {}
        self._pending: dict[Any, int] = {}

    def send(self, worker: int, run: Run) -> None:
        if worker not in self._actors:
            self._actors[worker] = self._actor.remote()
        text = json.dumps(run.to_json())
        self._pending[self._actors[worker].perform.remote(text, self._root)] = worker

    def receive(self) -> list[tuple[int, dict[str, Any] | None]]:
        ready, _ = self._ray.wait(list(self._pending), timeout=_SECONDS_BETWEEN_LOOKS)
        return [(worker, self._read(reference, worker)) for reference, worker in self._taken(ready)]

    def _taken(self, ready: Sequence[Any]) -> list[tuple[Any, int]]:
        return [(reference, self._pending.pop(reference)) for reference in ready]

    def _read(self, reference: Any, worker: int) -> dict[str, Any] | None:
        try:
            return json.loads(self._ray.get(reference))
        except self._ray.exceptions.RayError:
            self._actors.pop(worker)
            return None

    def close(self) -> None:
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._ray.shutdown()


class _RayWorker:
    """What lives in an actor."""

    def perform(self, text: str, root: str) -> str:
        return json.dumps(perform(json.loads(text), root))


def run_on_ray(all_runs: Sequence[Run], root: Path, workers: Workers) -> Iterator[Event]:
    """Several runs at a time on Ray, on this machine or on the cluster that RAY_ADDRESS names."""
    if importlib.util.find_spec("ray") is None:
        raise EngineError("the engine 'ray' needs Ray, which is not installed; get it with: pip install 'cinnet[ray]'")
    pool = _RayPool(root.absolute(), workers)
    return _distribute(all_runs, root, min(workers.count, len(all_runs)), pool)


ENGINES: dict[str, Engine] = {"serial": run_serially, "processes": run_in_processes, "ray": run_on_ray}
