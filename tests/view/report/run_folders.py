"""Run folders made of known arrays."""

import json

import numpy as np

from cinnet.assess.diagnostics import Diagnostics, Fields, OverTime
from cinnet.assess.verdict import Accuracy
from cinnet.result import RunResult
from cinnet.storage.run_folder import DIAGNOSTICS_FILE

HOSTILE = "<img src=x onerror=document.title='broken'>"


def make_diagnostics(dimension: int, with_reference: bool = True) -> Diagnostics:
    times = np.linspace(0.0, 2.0, 5)
    coordinates = tuple(np.linspace(-1.0, 1.0, n) for n in (9, 7)[:dimension])
    grids = np.meshgrid(times, *coordinates, indexing="ij")
    values = sum((k + 1) * grid for k, grid in enumerate(grids))[..., None].astype(np.float32)
    return Diagnostics(
        fields=Fields(
            components=("u",),
            axes=("x", "y")[:dimension],
            times=times,
            coordinates=coordinates,
            values=values,
            reference=values + np.float32(0.25) if with_reference else None,
        ),
        residual=np.linspace(1e-3, 2e-3, 5),
        error=np.linspace(1e-2, 2e-2, 5) if with_reference else None,
        invariants={"mass": OverTime(np.ones(5), np.ones(5) if with_reference else None, True)},
        gates=(np.array([[0.4, 0.5, 0.6]]),),
    )


def make_run(parent, name: str = "run", dimension: int = 1, with_reference: bool = True):
    folder = parent / name
    folder.mkdir()
    make_diagnostics(dimension, with_reference).save(folder / DIAGNOSTICS_FILE)
    result = RunResult(
        problem=HOSTILE,
        equation=r"u_t - d\,u_{xx} = 0",
        residual_source="",
        reproduce="cinnet solve heat --seed 0",
        **{"method": "ci-pinn", "preset": "fast", "seed": 0, "status": "stalled", "outcomes": ("stalled",) * 2},
        **{"num_times": 4, "num_points": 8, "num_mesh_intervals": 4, "windows": 2, "parameters": 1234},
        **{"steps": 3, "planned_steps": 6, "wall_seconds": 1.5, "final": {}, "made_by": {"jax": HOSTILE}},
        held_out_residual=1e-3,
        relative_l2_error=0.1 if with_reference else float("nan"),
        accuracy=str(Accuracy.INACCURATE),
        verdict=f"{Accuracy.INACCURATE}: {HOSTILE}",
    )
    records = [
        {"step": i, "window": i // 2, "seconds": i / 2, "loss": 10.0**-i, "residual": 10.0**-i, "damping": 1.0 + i}
        for i in range(1, 4)
    ]
    config = {"problem": {"name": HOSTILE, "parameters": {HOSTILE: 1.0}}, "settings": {"hidden": [4], HOSTILE: 1}}
    (folder / "result.json").write_text(json.dumps(result.to_json()))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    return folder
