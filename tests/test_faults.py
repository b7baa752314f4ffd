"""What goes wrong around a pipeline: downloads, networks, and being interrupted."""

import signal
from pathlib import Path

import pytest
from project import Project, checkout


def test_a_wrong_hash_is_one_line_and_keeps_what_was_there(project: Project) -> None:
    before, downloads = project.results(), project.folder / "work/downloads"
    kept = sorted(downloads.iterdir())
    project.run("rankgate", "params", f"repo.requests.source.sha256={'0' * 64}", "repo=[requests]")
    printed = project.run("dvc", "repro", status=255)
    (line,) = [line for line in printed.splitlines() if line.startswith("error:")]
    assert "repo.requests.source" in line
    assert "Traceback" not in printed
    assert project.results() == before
    assert sorted(downloads.iterdir()) == kept


def without_network(project: Project) -> None:
    """No index, and nothing fetched before."""
    project.environment |= {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_RETRIES": "0",
    }
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        project.environment.pop(name, None)


def test_without_network_the_rest_still_runs_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    project = checkout(tmp_path / "project")
    project.run("rm", "-rf", "work")
    without_network(project)
    printed = project.run("rankgate", "fetch", "--targets")
    for name in ("repo.requests", "retriever.static", "retriever.hybrid"):
        assert f"left out: {name.split('.')[1]}: {name}.source: no network" in printed
    targets = [line for line in printed.splitlines() if line.startswith("gate@")]
    assert targets == ["gate@sample_project-bm25", "gate@sample_project-ripgrep"]
    project.run("dvc", "repro", *targets)
    assert project.run("git", "status", "--short", "results", "verdicts") == ""


@pytest.mark.parametrize("stage", ["fixture", "index", "retrieve", "score", "gate"])
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_after_an_interruption_repro_ends_with_the_same_bytes(
    project: Project, stage: str, sent: signal.Signals
) -> None:
    before = project.results()
    project.run("rm", "-rf", "work", ".dvc/cache", ".dvc/tmp", "results", "verdicts")
    status = project.run_until(f"> python stages/{stage}.py", sent, "dvc", "repro", "--force")
    assert status != 0
    project.run("dvc", "repro")
    assert project.results() == before
