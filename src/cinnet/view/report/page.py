"""The page: a frame, a style, a script and the data, all in one file.

All text from users reaches the page as JSON and is shown by the script as text, never as markup. A policy in the
page's head forbids every request.
"""

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from ...storage.files import write_atomically
from .content import read_run

_SCRIPTS = ("elements.js", "charts.js", "fields.js", "page.js")  # each uses those before it
_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>cinnet report</title>
<style>
{style}
</style>
</head>
<body>
<main id="report"><noscript>This report draws its figures with JavaScript; the same figures are beside it as PNG and
PDF files.</noscript></main>
<script type="application/json" id="data">{data}</script>
<script>
{script}
</script>
</body>
</html>
"""


def write_report(folders: Sequence[Path], path: Path) -> Path:
    """A page on one run, or on several with a comparison at the top."""
    if not folders:
        raise ValueError("folders=[]: a report needs at least one run.")
    runs = [read_run(Path(folder)) for folder in folders]
    data = json.dumps({"runs": runs}, separators=(",", ":"), allow_nan=False)
    resources = files("cinnet.view.report")
    page = _FRAME.format(
        style=resources.joinpath("page.css").read_text(),
        script="\n".join(resources.joinpath(name).read_text() for name in _SCRIPTS),
        data=data.replace("<", "\\u003c"),
    )
    write_atomically(path, page.encode())
    return path
