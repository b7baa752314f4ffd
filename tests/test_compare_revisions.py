"""`rankgate compare` on repositories in the states that people and CI have them in."""

import json
import subprocess
from pathlib import Path

import pytest
from project import ROOT, Project

RESULT = "results/r/b/queries.json"


def result(values: list[float], **changes: object) -> str:
    """A queries.json as the stage score writes it, with what a comparison reads."""
    measures = ("recall_at_5", "mrr", "ndcg_at_5", "hit_rate", "fact_recall")
    queries = [
        {
            "id": f"q{i}",
            "question": f"question {i}",
            "shape": "focused",
            "ground_truth": {"grades": f"g{i}", "facts": f"f{i}"},
            "diagnosis": "ok",
            "measures": dict.fromkeys(measures, value),
            "ranking": [{"module": "a.py", "grade": 3}],
            "missing": [],
            "facts": [],
        }
        for i, value in enumerate(values)
    ]
    inputs = {"corpus": "c", "query_file": "q", "judge": "n15 1", "k": 5} | changes
    return json.dumps({"version": 1, "inputs": inputs, "queries": queries})


GOOD = result([0.9] * 20)
BAD = result([0.9 - 0.02 * (i % 10) for i in range(20)])


@pytest.fixture
def repository(tmp_path: Path) -> Project:
    """main has good results, the work tree's are bad."""
    project = Project(tmp_path / "project")
    project.environment["PYTHONPATH"] = str(ROOT / "src")
    project.write(RESULT, GOOD)
    project.run("git", "init", "--quiet", "--initial-branch=main")
    project.commit("good")
    project.write(RESULT, BAD)
    return project


def test_work_tree_against_a_branch(repository: Project) -> None:
    printed = repository.run("rankgate", "compare", "main", status=1)
    assert printed.startswith("**Regression: 4 measures fell**")
    assert repository.run("git", "status", "--short").strip() == f"M {RESULT}"


def test_two_commits_and_a_detached_head(repository: Project) -> None:
    repository.commit("bad")
    repository.run("git", "checkout", "--quiet", "--detach")
    for words, status in ((("HEAD~1", "HEAD"), 1), (("HEAD", "HEAD~1"), 0), (("HEAD", "HEAD"), 0)):
        repository.run("rankgate", "compare", *words, status=status)
    assert "No change" in repository.run("rankgate", "compare", "HEAD", "HEAD")


def test_from_a_folder_of_the_repository(repository: Project) -> None:
    inner = Project(repository.folder / "bench")
    inner.write(RESULT, GOOD)
    repository.commit("bench")
    inner.write(RESULT, BAD)
    assert "Regression" in inner.run("rankgate", "compare", "main", status=1)


def test_two_folders_without_git(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("old/r/b/queries.json", GOOD)
    project.write("new/r/b/queries.json", BAD)
    assert "Regression" in project.run("rankgate", "compare", "old", "new", status=1)


def test_json_is_the_same_in_every_run(repository: Project) -> None:
    first = repository.run("rankgate", "compare", "main", "--json", status=1)
    assert json.loads(first)["failed"] is True
    assert repository.run("rankgate", "compare", "main", "--json", status=1) == first


def test_fail_on_decides_the_status(repository: Project) -> None:
    repository.run("rankgate", "compare", "main", "--fail-on", "severe", status=0)
    repository.run("rankgate", "compare", "main", "--fail-on", "never", status=0)


def test_first_run_has_no_baseline(repository: Project) -> None:
    repository.run("git", "checkout", "--quiet", "--orphan", "empty")
    repository.run("git", "rm", "-rf", "--quiet", "--cached", ".")
    repository.run("git", "commit", "--quiet", "--allow-empty", "--message", "empty")
    printed = repository.run("rankgate", "compare", "empty", status=1)
    assert printed == "no verdict: empty has no results; run `dvc repro` and commit\n"
    repository.run("rankgate", "compare", "empty", "--incomparable", "pass", status=0)


def test_a_workspace_without_results_is_bad_input(tmp_path: Path) -> None:
    printed = Project(tmp_path).run("rankgate", "compare", ".", status=2)
    assert printed == "error: workspace has no results; run `dvc repro` and commit\n"


def test_renamed_repo_is_named(repository: Project) -> None:
    repository.run("git", "mv", "results/r", "results/s")
    printed = repository.run("rankgate", "compare", "main", status=1)
    assert "is now s/b: the same corpus and query file under another name" in printed
    repository.run("rankgate", "compare", "main", "--incomparable", "pass", status=0)


def test_another_corpus_gets_no_verdict(repository: Project) -> None:
    repository.write(RESULT, result([0.1] * 20, corpus="other"))
    assert "No verdict" in repository.run("rankgate", "compare", "main", status=1)
    printed = repository.run("rankgate", "compare", "main", "--allow-corpus-change", status=1)
    assert "Regression" in printed


def test_results_of_an_old_version_are_bad_input(repository: Project) -> None:
    repository.write(RESULT, '{"version": 1, "inputs": {}, "queries": [{"id": "a"}]}')
    printed = repository.run("rankgate", "compare", "main", status=2)
    assert printed == (
        f"error: {RESULT}: results of another version of rankgate, which cannot be compared; "
        "run `dvc repro` there and commit its results\n"
    )


def test_shallow_clone_says_how_to_get_the_base(repository: Project, tmp_path: Path) -> None:
    repository.commit("bad")
    repository.run("git", "branch", "base", "HEAD~1")
    clone = tmp_path / "clone"
    repository.run(
        "git", "clone", "--quiet", "--depth=1", f"file://{repository.folder}", str(clone)
    )
    printed = Project(clone).run("rankgate", "compare", "base", status=2)
    assert "git fetch --depth=1 origin base:base" in printed


@pytest.mark.parametrize("name", ["--upload-pack=x", "-x", "nothing", "a b", "HEAD:results", "a;b"])
def test_strange_revisions_are_refused(repository: Project, name: str) -> None:
    printed = repository.run("rankgate", "compare", "--", name, status=2)
    assert printed.startswith("error: ")
    assert len(printed.splitlines()) == 1


@pytest.mark.parametrize("name", ["fix#12", "a,b", "x=1;y", "größe/ä", "$(touch pwned)", "100%"])
def test_any_name_of_a_branch_goes(repository: Project, name: str) -> None:
    name = name.replace(" ", "_")
    repository.run("git", "branch", name)
    assert "No change" in repository.run("rankgate", "compare", name, "main")
    assert not (repository.folder / "pwned").exists()


def test_results_that_are_a_link_in_git_are_none(repository: Project) -> None:
    repository.run("git", "rm", "-rq", "--cached", "results")
    (repository.folder / "results").rename(repository.folder / "elsewhere")
    (repository.folder / "results").symlink_to("elsewhere")
    repository.run("git", "add", "results")
    repository.run("git", "commit", "--quiet", "--message", "linked")
    assert "HEAD has no results" in repository.run("rankgate", "compare", "HEAD", status=1)


def test_hooks_and_monitors_of_the_repository_do_not_run(
    repository: Project, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    repository.run("git", "config", "core.fsmonitor", f"touch {canary}; false")
    repository.run("git", "config", "core.pager", f"touch {canary}; cat")
    repository.run("rankgate", "compare", "main", status=1)
    assert not canary.exists()


def test_an_experiment_of_dvc_is_found_by_its_name(repository: Project) -> None:
    commit = subprocess.run(
        ["git", "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "exp"],
        cwd=repository.folder,
        env=repository.environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    repository.run("git", "update-ref", f"refs/exps/ab/{'c' * 38}/tidy-hare", commit)
    assert "No change" in repository.run("rankgate", "compare", "main", "tidy-hare")


def test_report_goes_to_a_file(repository: Project) -> None:
    assert repository.run("rankgate", "compare", "main", "--out", "c.md", status=1) == ""
    assert repository.read("c.md").startswith("**Regression")


def test_a_setting_changed_on_a_branch_is_found_in_the_real_pipeline(project: Project) -> None:
    project.replace("conf/retriever/bm25.yaml", "k1: 2.0", "k1: 0.2")
    project.run("rankgate", "params")
    project.run("dvc", "repro", "--keep-going", status=None)
    before = json.loads(project.run("git", "show", "main:results/sample_project/bm25/queries.json"))
    after = json.loads(project.read("results/sample_project/bm25/queries.json"))
    compared = json.loads(
        project.run("rankgate", "compare", "main", "--json", "--incomparable", "pass", status=None)
    )
    (cell,) = compared["cells"]
    names = ("recall_at_5", "mrr", "ndcg_at_5", "fact_recall")
    moved = [
        a["id"]
        for a, b in zip(after["queries"], before["queries"], strict=True)
        if any(a["measures"][name] != b["measures"][name] for name in names)
    ]
    assert moved
    assert sorted(query["id"] for query in cell["moved"]) == sorted(moved)
