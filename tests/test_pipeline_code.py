"""dvc.yaml names the code that each stage runs, and no other."""

import pytest
import yaml
from project import ROOT, Project

# How a stage starts and ends, says what it does, finds its files, reads its settings, takes its
# time: what they hand on are the params that DVC compares anyway.
PLUMBING = {"config", "errors", "layout", "progress", "stage", "timing"}
# Imported by config.py for the names of settings and measures.
NAMES = {"metrics", "queries"}
# What a retriever is made of, with what that imports, reaches its cells by the stage resources;
# settings writes nothing.
ELSEWHERE = {
    "resources": {"answers", "corpus", "retrievers", "tokens"},  # all of src/rankgate
    "index": {"retrievers"},
    "retrieve": {"retrievers"},
    "settings": {"files"},
}
# Packages of which a stage reads the code, or imports only what the settings ask for.
READ = {"fixture": {"sources"}}
RUN = """
import runpy, sys
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit:
    pass
print("MODULES", *(name for name in sys.modules if name.startswith("rankgate.")))
"""
ARGUMENTS = {
    "fixture": ["sample_project"],
    "resources": ["bm25"],
    "index": ["sample_project", "bm25"],
    "retrieve": ["sample_project", "bm25"],
    "score": ["sample_project", "bm25"],
    "gate": ["sample_project", "bm25"],
    "settings": [],
    "report": [],
}


def declared(stage: str) -> set[str]:
    """The modules of rankgate, or the packages, among a stage's deps."""
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    body = stages[stage].get("do", stages[stage])
    prefix = "src/rankgate/"
    return {dep.removeprefix(prefix).removesuffix(".py") for dep in body["deps"] if prefix in dep}


def imported(stage: str, project: Project) -> set[str]:
    """The modules of rankgate that a stage imports when it runs, packages by their first name."""
    code = RUN.replace("sys.argv[0]", f"'stages/{stage}.py'")
    printed = project.run("python", "-c", code, *ARGUMENTS[stage])
    (line,) = [line for line in printed.splitlines() if line.startswith("MODULES")]
    return {name.split(".")[1] for name in line.split()[1:]}


@pytest.mark.parametrize("stage", ARGUMENTS)
def test_a_stage_depends_on_the_code_that_it_runs(stage: str, project: Project) -> None:
    needed = imported(stage, project) - PLUMBING
    assert needed - NAMES - ELSEWHERE.get(stage, set()) <= declared(stage)
    assert declared(stage) - READ.get(stage, set()) <= needed
