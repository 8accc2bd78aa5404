"""The disk cache: found by content, never trusted blindly, never fatal."""

import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.domains import Periodic
from cinnet.problems import AllenCahn, EvolutionProblem
from cinnet.reference import cache_directory, reference_solution
from cinnet.reference.cache import cache_path

SETTINGS = {"modes": 32, "time_step": 0.05, "levels": 5}


def solve(problem=None, **changes):
    """A small solution, and how many runs it took: none if it came from the cache."""
    runs = []
    problem = AllenCahn() if problem is None else problem
    return reference_solution(problem, progress=runs.append, **{**SETTINGS, **changes}), len(runs)


def test_second_call_reads_the_file_and_gives_the_same_solution(cache_folder):
    first, runs = solve()
    assert runs == 1
    assert cache_directory() == cache_folder
    again, runs = solve()
    assert runs == 0
    t, x = np.linspace(0, 1, 7)[:, None], np.linspace(-1, 1, 9)  # between the snapshots too
    np.testing.assert_array_equal(first(t, x), again(t, x))
    assert (first.modes, first.time_step, first.agreement) == (again.modes, again.time_step, again.agreement)


def test_no_temporary_file_is_left(cache_folder):
    solve()
    assert [file.suffix for file in cache_folder.iterdir()] == [".npz"]


class Tabulated(EvolutionProblem):
    """A source given as data that the residual closes over."""

    table: np.ndarray
    space = Periodic(0.0, 1.0)

    def residual(self, u, t, x):
        return u.t - u.xx - jnp.interp(x, jnp.linspace(0, 1, len(self.table)), jnp.asarray(self.table))

    def initial(self, x):
        return 0.0 * x


def test_what_changes_the_solution_changes_the_file():
    class Longer(AllenCahn):
        time = (0.0, 2.0)

    class Wider(AllenCahn):
        space = Periodic(-1.0, 1.5)

    class OtherStart(AllenCahn):
        def initial(self, x):
            return x**2 * jnp.cos(jnp.pi * x) + 1e-15

    problems = [
        AllenCahn(),
        AllenCahn(diffusivity=np.nextafter(1e-4, 1)),
        Longer(),
        Wider(),
        OtherStart(),
        Tabulated(np.array([0.0, 1.0, 0.0])),
        Tabulated(np.array([0.0, 1.0 + 1e-15, 0.0])),
    ]
    paths = [cache_path(problem, SETTINGS) for problem in problems] + [cache_path(AllenCahn(), {"modes": 64})]
    assert len(set(paths)) == len(paths)
    assert cache_path(AllenCahn(), SETTINGS) == paths[0]


def test_a_changed_coefficient_is_computed():
    solve()
    assert solve(AllenCahn(reaction=4.0))[1] == 1
    assert solve(time_step=0.04)[1] == 1


@pytest.mark.parametrize("keep", [0, 10, 200, -1, -60])
def test_a_truncated_file_is_computed_again(cache_folder, keep):
    solve()
    (file,) = cache_folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:keep])
    assert solve()[1] == 1
    assert solve()[1] == 0


def test_changed_bytes_are_computed_again_or_harmless(cache_folder):
    first, _ = solve()
    (file,) = cache_folder.iterdir()
    whole = file.read_bytes()
    for position in np.linspace(0, len(whole) - 1, 12).astype(int):
        damaged = bytearray(whole)
        damaged[position] ^= 0x55
        file.write_bytes(bytes(damaged))
        again, _ = solve()
        np.testing.assert_array_equal(again(0.6, 0.3), first(0.6, 0.3))


def test_a_forged_array_fails_the_checksum(cache_folder):
    solve()
    (file,) = cache_folder.iterdir()
    with np.load(file) as stored:
        arrays = dict(stored)
    arrays["numbers"] = arrays["numbers"] * 2
    np.savez(file, **arrays)
    assert solve()[1] == 1


def test_a_directory_that_cannot_be_written_warns(tmp_path, monkeypatch):
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    monkeypatch.setenv("CINNET_CACHE", str(blocked))
    with pytest.warns(UserWarning, match="CINNET_CACHE"):
        solution, runs = solve()
    assert runs == 1
    assert np.isfinite(solution(0.5, 0.0))


def test_without_cache_nothing_is_written(cache_folder):
    solve(cache=False)
    assert not cache_folder.exists()
