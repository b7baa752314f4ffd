"""Fixtures that more than one test module uses."""

from pathlib import Path

import pytest
from project import Project, checkout


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The default grid, reproduced from a clean checkout; tests only look at it."""
    project = checkout(tmp_path_factory.mktemp("grid") / "project")
    project.run("dvc", "repro", "--force")  # by running it, not by what dvc.lock says
    return project


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The sample project with bm25, reproduced and committed; tests work on copies of it."""
    project = checkout(tmp_path_factory.mktemp("sample") / "project")
    for group, chosen in (("repo", "sample_project"), ("retriever", "bm25")):
        lines = project.read("conf/config.yaml").splitlines()
        (line,) = [line for line in lines if line.startswith(f"  - {group}: [")]
        project.replace("conf/config.yaml", line, f"  - {group}: [{chosen}]")
    project.run("rankgate", "params")
    project.run("rm", "-r", "results", "verdicts")
    project.run("dvc", "repro")
    project.commit("sample")
    return project


@pytest.fixture
def project(sample: Project, tmp_path: Path) -> Project:
    """A reproduced sample project of one's own."""
    return sample.copy(tmp_path / "project")
