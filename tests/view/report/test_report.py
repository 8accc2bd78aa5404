import json
import re

import numpy as np
import pytest
from run_folders import HOSTILE

from cinnet.assess.diagnostics import Diagnostics
from cinnet.storage.run_folder import DIAGNOSTICS_FILE
from cinnet.view.report import write_report
from cinnet.view.report.content import equation_image, read_run


class Opened:
    """A page in the browser, with all that it complained of or asked for."""

    def __init__(self, browser, path, width=1000):
        self.page = browser.new_page(viewport={"width": width, "height": 1600})
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def read_at(self, across, up):
        """The numbers under the cursor at a place of the field given as fractions."""
        box = self.page.locator("#field").bounding_box()
        self.page.mouse.move(box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"])
        text = self.page.locator("#readout").text_content()
        return {name: float(value) for name, value in re.findall(r"(\w+) = ([-+.\de]+)", text)}


def test_page_is_one_file_that_asks_for_nothing(browser, run_folder, tmp_path):
    opened = Opened(browser, write_report([run_folder()], tmp_path / "report.html"))
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in opened.requests if url.startswith("file:")]) == 1


@pytest.mark.parametrize("dimension", [1, 2])
def test_values_under_the_cursor_are_those_of_the_arrays(browser, run_folder, tmp_path, dimension):
    folder = run_folder(dimension=dimension)
    fields = Diagnostics.load(folder / DIAGNOSTICS_FILE).fields
    opened = Opened(browser, write_report([folder], tmp_path / "report.html"))
    across = fields.times if dimension == 1 else fields.coordinates[0]
    up = fields.coordinates[-1]
    for i, j in ((0, 1), (2, 3), (len(across) - 2, len(up) - 2)):
        read = opened.read_at((i + 0.1) / (len(across) - 1), (j + 0.1) / (len(up) - 1))
        where = (i, j, 0) if dimension == 1 else (-1, i, j, 0)
        assert read["t"] == pytest.approx(fields.times[i if dimension == 1 else -1])
        assert read[fields.axes[-1]] == pytest.approx(up[j], rel=1e-3)
        assert read["u"] == pytest.approx(fields.values[where], rel=1e-3, abs=1e-3)
        assert read["reference"] == pytest.approx(fields.reference[where], rel=1e-3, abs=1e-3)
        assert read["error"] == pytest.approx(0.25, rel=1e-3)


def test_the_slider_changes_picture_and_profile(browser, run_folder, tmp_path):
    page = Opened(browser, write_report([run_folder(dimension=2)], tmp_path / "report.html")).page
    picture = lambda: page.evaluate("document.getElementById('field').toDataURL()")  # noqa: E731
    profile = lambda: page.locator("svg path").first.get_attribute("d")  # noqa: E731
    before = picture(), profile(), page.locator("#clock").text_content()
    page.locator("#time").fill("1")
    after = picture(), profile(), page.locator("#clock").text_content()
    assert before[0] != after[0]
    assert before[2] == "t = 2"
    assert after[2] == "t = 0.5"
    page.get_by_role("button", name="error").click()
    assert picture() != after[0]


def test_legend_toggles_a_curve(browser, run_folder, tmp_path):
    page = Opened(browser, write_report([run_folder()], tmp_path / "report.html")).page
    figure = page.locator("figure", has_text="Losses and error")
    button = figure.get_by_role("button", name="loss")
    count = figure.locator("svg path").count()
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert figure.locator("svg path").count() == count - 1


@pytest.mark.parametrize("number", [1, 3])
def test_a_phone_does_not_scroll_sideways(browser, run_folder, tmp_path, number):
    folders = [run_folder(f"a-rather-long-name-of-a-run-folder-{i}" * 2) for i in range(number)]
    page = Opened(browser, write_report(folders, tmp_path / "report.html"), width=400).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_text_of_users_stays_text(browser, run_folder, tmp_path):
    opened = Opened(browser, write_report([run_folder()], tmp_path / "report.html"))
    assert opened.complaints == []
    assert opened.page.title() == f"{HOSTILE}, ci-pinn - cinnet"
    assert opened.page.locator("img:not(.equation)").count() == 0
    assert opened.page.locator("h1").text_content() == f"{HOSTILE}, ci-pinn"


def test_the_verdict_has_the_colour_of_its_accuracy_and_the_versions_are_shown(browser, run_folder, tmp_path):
    page = Opened(browser, write_report([run_folder()], tmp_path / "report.html")).page
    assert page.locator(".verdict.bad").count() == 1
    page.get_by_text("Made by", exact=True).click()
    assert page.get_by_role("row", name=f"jax {HOSTILE}").count() == 1


def test_several_runs_are_compared_and_chosen(browser, run_folder, tmp_path):
    folders = [run_folder("first"), run_folder("second", dimension=2), run_folder("third", with_reference=False)]
    opened = Opened(browser, write_report(folders, tmp_path / "report.html"))
    assert opened.page.locator("tbody").first.locator("tr").count() == 3
    for index, name in enumerate(("first", "second", "third")):
        opened.page.locator("#run").select_option(str(index))
        assert opened.page.locator("p", has_text=f"run {name}").count() == 1
    assert opened.complaints == []


def test_numbers_that_json_cannot_hold_become_unknown(run_folder):
    run = read_run(run_folder(with_reference=False))
    assert run["result"]["relative_l2_error"] is None
    json.dumps(run, allow_nan=False)


def test_data_cannot_end_its_script(run_folder, tmp_path):
    text = write_report([run_folder()], tmp_path / "report.html").read_text()
    assert HOSTILE not in text
    assert text.count("</script>") == 2


def test_an_equation_that_cannot_be_set_is_left_as_text():
    assert equation_image(r"\undefined{") is None
    assert equation_image("") is None
    assert equation_image("u_t = 0").startswith("data:image/svg+xml")


def test_diagnostics_survive_the_disk(run_folder):
    folder = run_folder(dimension=2)
    first = Diagnostics.load(folder / DIAGNOSTICS_FILE)
    first.save(folder / "again.npz")
    second = Diagnostics.load(folder / "again.npz")
    np.testing.assert_array_equal(first.fields.values, second.fields.values)
    np.testing.assert_array_equal(first.fields.reference, second.fields.reference)
    np.testing.assert_array_equal(first.gates[0], second.gates[0])
    assert second.invariants["mass"].conserved


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not a zip", None])
def test_damaged_diagnostics_are_named(run_folder, damage):
    path = run_folder() / DIAGNOSTICS_FILE
    path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        Diagnostics.load(path)
