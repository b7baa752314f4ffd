"""A private checkout beside the project's own."""

import os
import shutil
from pathlib import Path

import pytest
from project import Project

from rankgate.errors import InputError
from rankgate.workspace import sync


def test_a_run_in_a_workspace_leaves_the_project_alone_and_shares_its_cache(
    project: Project, tmp_path: Path
) -> None:
    before = project.run("git", "status", "--short")
    sync(project.folder, tmp_path / "workspace")
    workspace = Project(tmp_path / "workspace")
    workspace.run("rankgate", "params", "k=7", "cutoffs=[1,5,7]")
    printed = workspace.run("dvc", "repro", "index")
    assert "Stage 'index@sample_project-bm25' is cached" in printed
    assert "Running stage" not in printed
    workspace.run("dvc", "repro", "score")
    assert "recall_at_7" in workspace.read("results/sample_project/bm25/metrics.json")
    assert project.run("git", "status", "--short") == before
    assert project.stages_run("dvc", "repro") == set()


def test_a_second_sync_brings_edits_takes_away_and_keeps_what_ran(
    project: Project, tmp_path: Path
) -> None:
    folder = tmp_path / "workspace"
    project.write("docs/gone.md", "gone")
    sync(project.folder, folder)
    (folder / "dvc.lock").write_text("what ran")
    (project.folder / "docs/gone.md").unlink()
    project.write("docs/new.md", "new")
    project.write("README.md", "edited")
    sync(project.folder, folder)
    assert not (folder / "docs/gone.md").exists()
    assert (folder / "docs/new.md").read_text() == "new"
    assert (folder / "README.md").read_text() == "edited"
    assert (folder / "dvc.lock").read_text() == "what ran"
    assert not (folder / "results").exists()


def test_names_and_deletions_of_any_kind_are_brought(project: Project, tmp_path: Path) -> None:
    folder, victim = tmp_path / "workspace", tmp_path / "victim"
    victim.touch()
    odd = [os.fsdecode(b"odd/\xff"), "odd/a\n../victim", "a\n../victim"]
    for name in (*odd, "was/file", "was_file"):
        project.write(name, "text")
    project.commit("odd names")
    sync(project.folder, folder)
    assert all((folder / name).read_text() == "text" for name in odd)
    # Deleted without a commit: git's index still has them.
    shutil.rmtree(project.folder / "odd")
    shutil.rmtree(project.folder / "a\n..")
    shutil.rmtree(project.folder / "was")
    (project.folder / "was_file").unlink()
    project.write("was", "a file now")
    project.write("was_file/inner", "a folder now")
    sync(project.folder, folder)
    assert victim.exists()
    assert not any((folder / name).exists() for name in odd)
    assert (folder / "was").read_text() == "a file now"
    assert (folder / "was_file/inner").read_text() == "a folder now"


def test_a_folder_without_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no git checkout"):
        sync(tmp_path, tmp_path / "workspace")
