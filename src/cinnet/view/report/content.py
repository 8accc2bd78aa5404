"""What a page shows of a run, read from its folder, as data that JSON can hold."""

import base64
import io
import math
from pathlib import Path
from typing import Any

import numpy as np

from ...assess.diagnostics import Diagnostics
from ...result import RunResult
from ...storage.files import StorageError, read_json
from ...storage.run_folder import CONFIG_FILE, DIAGNOSTICS_FILE, METRICS_FILE, RESULT_FILE, load_records

_MOST_RECORDS = 2000


def read_run(folder: Path) -> dict[str, Any]:
    """A finished run: names, numbers, curves, fields and settings."""
    try:
        return _read_run(folder)
    except (KeyError, TypeError) as error:
        raise StorageError(f"what {folder} holds is not that of a run ({type(error).__name__}: {error}).") from None


def _read_run(folder: Path) -> dict[str, Any]:
    result, config = RunResult.from_json(read_json(folder / RESULT_FILE)), read_json(folder / CONFIG_FILE)
    diagnostics = Diagnostics.load(folder / DIAGNOSTICS_FILE)
    fields = diagnostics.fields
    return _finite(
        {
            "folder": folder.name,
            "result": result.to_json(),
            "equation": equation_image(result.equation),
            "settings": config["settings"],
            "parameters": config["problem"]["parameters"],
            "records": _columns(_read_records(folder / METRICS_FILE)),
            "fields": {
                "components": list(fields.components),
                "axes": list(fields.axes),
                "times": fields.times.tolist(),
                "coordinates": [one.tolist() for one in fields.coordinates],
                "values": _encoded(fields.values),
                "reference": None if fields.reference is None else _encoded(fields.reference),
            },
            "residual": diagnostics.residual.tolist(),
            "error": None if diagnostics.error is None else diagnostics.error.tolist(),
            "invariants": {
                name: {
                    "solution": one.solution.tolist(),
                    "reference": None if one.reference is None else one.reference.tolist(),
                    "conserved": one.conserved,
                }
                for name, one in diagnostics.invariants.items()
            },
            "gates": [one.ravel().tolist() for one in diagnostics.gates],
        }
    )


def equation_image(latex: str) -> str | None:
    """An equation as an SVG image in a data address; None where there is none or Matplotlib cannot read it."""
    from matplotlib import mathtext
    from matplotlib.font_manager import FontProperties

    if not latex.strip():
        return None
    buffer = io.BytesIO()
    try:
        mathtext.math_to_image(f"${latex}$", buffer, prop=FontProperties(size=15), format="svg")
    except ValueError:
        return None
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def _encoded(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()


def _read_records(path: Path) -> list[dict[str, float]]:
    records = load_records(path)
    step = max(1, -(-len(records) // _MOST_RECORDS))
    return records[::step] if not records or records[-1] in records[::step] else [*records[::step], records[-1]]


def _columns(records: list[dict[str, float]]) -> dict[str, list[float | None]]:
    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: [record.get(name) for record in records] for name in names}


def _finite(value: Any) -> Any:
    """The same data with None for numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
