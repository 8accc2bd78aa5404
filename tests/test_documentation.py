"""What the documentation shows, works: Python snippets run, commands parse, settings files are understood.

The blocks of a page run in order in one namespace and a folder of their own. Training is made cheap, and nothing else:
networks are tiny and all grids are the same small one in one window. On the pages in `TRAINED` the first `solve` makes
one step in each stage; every other builds all that training needs, makes no step and skips the reference. References
have a loose tolerance, errors are measured on few points, and the speed of the machine is not measured.
"""

import dataclasses
import re
import shlex
from pathlib import Path

import pytest

import cinnet.reference.solver
import cinnet.solution
import cinnet.solver
import cinnet.training.forecast
from cinnet.cli import main
from cinnet.cli.common import RunFolder
from cinnet.cli.solve import _read_toml, _resolve
from cinnet.config.settings import Settings, Stage

ROOT = Path(__file__).parent.parent
TRAINED = ("docs/start.md",)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a page, each with the number of its first line."""
    text = page.read_text()
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in found]


def commands_in(text: str) -> list[str]:
    """The `cinnet` commands in shell text, from whatever folder the program comes."""
    lines = text.replace("\\\n", " ").splitlines()
    parts = [part.strip() for line in lines for part in line.split("&&")]
    return [part for part in parts if re.match(r"\S*\bcinnet ", part)]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def shortened(settings: Settings, steps: int) -> tuple[Stage, ...]:
    return tuple(dataclasses.replace(stage, steps=min(stage.steps, steps)) for stage in settings.stages)


@pytest.fixture
def cheap(request, monkeypatch, tmp_path, tmp_path_factory):
    whole_run = cinnet.solver.run
    trained = []

    def short_run(problem, settings, **options):
        windows = 1 + len(options.get("solved", ()))
        short = dataclasses.replace(
            settings,
            hidden=(4,),
            windows=windows,
            num_times=10 * windows,
            num_points=min(settings.num_points, 8),
            num_mesh_intervals=settings.num_mesh_intervals and 10 * windows,
            stages=shortened(settings, 1),
        )
        if not trained and name(request.getfixturevalue("page")) in TRAINED:
            trained.append(short)
        if short not in trained:
            short = dataclasses.replace(short, stages=shortened(short, 0))
            options = options | {"reference": False}
        return whole_run(problem, short, **options)

    for dimension, defaults in cinnet.reference.solver._DEFAULTS.items():
        loose = dataclasses.replace(defaults, tolerance=3e-2)
        monkeypatch.setitem(cinnet.reference.solver._DEFAULTS, dimension, loose)
    monkeypatch.setattr(cinnet.assess.comparison, "_TEST_GRIDS", {0: (5, 1), 1: (5, 16), 2: (3, 4)})
    monkeypatch.setattr(cinnet.solver, "run", short_run)
    monkeypatch.setattr(cinnet.training.forecast, "gemm_seconds", lambda: 1.0)
    monkeypatch.setenv("CINNET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python_snippets_run(page, cheap):
    namespace = {"__name__": "snippet"}
    for line, source in blocks(page, "python"):
        exec(compile("\n" * (line - 1) + source, str(page), "exec"), namespace)


COMMANDS = [
    (name(page), command) for page in PAGES for _, block in blocks(page, "bash") for command in commands_in(block)
]
IN_HELP = [
    (f"help of {command.name}", line)
    for command in main.commands.values()
    for line in commands_in("\n".join(part.removeprefix("Example: ").strip() for part in command.epilog.splitlines()))
]


@pytest.mark.parametrize(("where", "command"), [*COMMANDS, *IN_HELP])
def test_commands_parse(where, command, monkeypatch):
    monkeypatch.setattr(RunFolder, "convert", lambda self, value, param, ctx: Path(value))
    _, verb, *arguments = shlex.split(command, comments=True)
    main.commands[verb].make_context(verb, arguments)


def test_every_command_is_documented():
    page = name(ROOT / "docs" / "guide" / "command-line.md")
    shown = {shlex.split(command)[1] for where, command in COMMANDS if where == page}
    assert shown == set(main.commands)


@pytest.mark.parametrize(
    ("page", "text"), [(page, text) for page in PAGES for _, text in blocks(page, "toml")], ids=lambda value: ""
)
def test_settings_files_are_understood(page, text, tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text(text)
    choices = _read_toml(path)
    choices.pop("budget", None)
    _resolve(cinnet.KortewegDeVries(), choices, {})


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "bash")], ids=name)
def test_files_named_in_commands_exist(page):
    named = re.findall(r"\b((?:examples|benchmarks|validation)/\w+\.py)", page.read_text())
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_every_extension_point_has_a_short_example_that_the_guide_names():
    guide = (ROOT / "docs" / "guide" / "extend.md").read_text()
    examples = sorted((ROOT / "examples" / "extend").glob("*.py"))
    assert len(examples) == 7
    for example in examples:
        assert f"`{example.name}`" in guide
        assert len(example.read_text().splitlines()) <= 40
