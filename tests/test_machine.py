"""What made a run: versions and commit, asked for once, and side by side where several had a part."""

import subprocess

from cinnet import __version__, machine


def test_a_commit_is_known_in_a_repository_and_marked_where_the_source_has_changed(tmp_path, monkeypatch):
    source, result = tmp_path / "src" / "machine.py", tmp_path / "result.json"
    monkeypatch.setattr(machine, "__file__", str(source))
    source.parent.mkdir()
    source.write_text("first")
    result.write_text("first")
    assert machine.commit() is None
    author = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "first")):
        subprocess.run(["git", *command], check=True, cwd=tmp_path)
    commit = machine.commit()
    assert len(commit) == 12
    result.write_text("second")
    assert machine.commit() == commit
    source.write_text("second")
    assert machine.commit() == f"{commit} with changes"


def test_provenance_is_that_of_the_beginning(monkeypatch):
    made_by = machine.provenance()
    assert made_by["cinnet"] == __version__
    monkeypatch.setattr(machine, "commit", lambda: "of later")
    assert machine.provenance() == made_by


def test_makers_are_named_side_by_side_where_they_differ():
    first = {"cinnet": "0.1", "commit": "abc"}
    second = {"cinnet": "0.1", "commit": "def with changes", "cores": "2"}
    both = {"cinnet": "0.1", "commit": "abc, def with changes", "cores": "unknown, 2"}
    assert machine.merged({}, first) == first
    assert machine.merged(first, first) == first
    assert machine.merged(first, second) == both
    assert machine.merged(both, second) == both
