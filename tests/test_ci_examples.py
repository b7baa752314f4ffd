"""The shell steps of docs/examples/ci, run as a code host would run them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from project import ROOT, Project
from test_compare_revisions import BAD, GOOD, RESULT

EXAMPLES = ROOT / "docs/examples/ci"
STUB = """#!/bin/sh
printf '%s\\n' "$0 $*" >> "$CALLS"
case "$*" in *"?per_page"*) printf '%s' "$NOTES";; esac
"""


@pytest.fixture
def merge(tmp_path: Path) -> Project:
    """A clone whose base has good results; pip, dvc, gh and curl only note their calls."""
    origin = Project(tmp_path / "origin")
    origin.write(RESULT, GOOD)
    origin.run("git", "init", "--quiet", "--initial-branch=main")
    origin.commit("good")
    origin.run("git", "clone", "--quiet", ".", str(tmp_path / "clone"))
    project = Project(tmp_path / "clone")
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    for name in ("pip", "dvc", "gh", "curl"):
        (stubs / name).write_text(STUB)
        (stubs / name).chmod(0o755)
    project.environment |= {
        "PATH": f"{stubs}{os.pathsep}{project.environment['PATH']}",
        "CALLS": str(tmp_path / "calls"),
        "NOTES": "[]",
        "GITHUB_ENV": str(tmp_path / "github-env"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "BASE": "main",
        "PULL_REQUEST": "7",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_API_V4_URL": "https://host.invalid/api/v4",
        "CI_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_IID": "7",
        "COMMENT_TOKEN": "secret",
    }
    return project


def github(project: Project) -> int:
    """The job's steps, each in a shell of its own with the variables that earlier ones set."""
    job: Any = yaml.safe_load((EXAMPLES / "github.yml").read_text())["jobs"]["compare"]
    for step in (step["run"] for step in job["steps"] if "run" in step):
        kept = Path(project.environment["GITHUB_ENV"])
        lines = kept.read_text().splitlines() if kept.is_file() else []
        more = dict(line.split("=", 1) for line in lines)
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step],
            cwd=project.folder,
            env=project.environment | more,
            check=False,
        )
        if done.returncode:
            return done.returncode
    return 0


def gitlab(project: Project) -> int:
    job: Any = yaml.safe_load((EXAMPLES / "gitlab.yml").read_text())["retrieval"]
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", "\n".join(job["script"])],
        cwd=project.folder,
        env=project.environment,
        check=False,
    ).returncode


@pytest.mark.parametrize("host", [github, gitlab])
def test_a_change_that_makes_nothing_worse_passes(merge: Project, host: Any) -> None:
    assert host(merge) == 0
    assert "**No change**" in merge.read("comment.md")


@pytest.mark.parametrize("host", [github, gitlab])
def test_a_regression_is_commented_and_fails(merge: Project, host: Any) -> None:
    merge.write(RESULT, BAD)
    assert host(merge) == 1
    assert merge.read("comment.md").startswith("**Regression")
    assert "comment" in Path(merge.environment["CALLS"]).read_text() or host is gitlab


@pytest.mark.parametrize("host", [github, gitlab])
def test_a_base_without_results_says_so(merge: Project, host: Any) -> None:
    merge.run("git", "rm", "-r", "--quiet", "results")
    merge.run("git", "commit", "--quiet", "--message", "empty")
    merge.run("git", "push", "--quiet", "origin", "HEAD:refs/heads/empty")
    merge.run("git", "fetch", "--quiet", "origin")
    merge.write(RESULT, GOOD)
    merge.environment |= {"BASE": "empty", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "empty"}
    assert host(merge) == 1
    assert merge.read("comment.md").startswith("No verdict")


@pytest.mark.parametrize(
    ("notes", "method"), [([], "POST"), ([{"id": 5, "body": "<!-- rankgate -->"}], "PUT")]
)
def test_gitlab_writes_one_comment_and_then_that_one_anew(
    merge: Project, notes: list[dict[str, Any]], method: str
) -> None:
    merge.environment["NOTES"] = json.dumps(notes)
    assert gitlab(merge) == 0
    last = Path(merge.environment["CALLS"]).read_text().splitlines()[-1]
    assert f"--request {method}" in last
    assert last.endswith("/notes/5" if notes else "/notes")
