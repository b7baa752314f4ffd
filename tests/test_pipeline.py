"""The pipeline as its users live in it: dvc repro, exp run and metrics diff on a real checkout."""

import json

import pytest
from project import ROOT, Project

CELL = "results/sample_project/bm25"
WRONG_RETRIEVER = '''
"""Returns modules by their size, whatever is asked."""

from pathlib import Path

from rankgate.answers import Hit, Retrieved
from rankgate.corpus import Corpus


class Smallest:
    version = "1"

    def build(self, corpus: Corpus, index: Path) -> None:
        pass

    def open(self, corpus: Corpus, index: Path) -> None:
        self.modules = sorted(corpus.modules, key=lambda module: (module.bytes, module.path))

    def ask(self, question: str, k: int) -> Retrieved:
        return Retrieved(tuple(Hit(module.path, 1.0) for module in self.modules[:1]), "")
'''
WRONG_CONFIG = """# @package retriever.smallest
_target_: rankgate.retrievers.smallest.Smallest
"""


def add_wrong_retriever(project: Project) -> None:
    project.write("src/rankgate/retrievers/smallest.py", WRONG_RETRIEVER)
    project.write("conf/retriever/smallest.yaml", WRONG_CONFIG)


def test_a_clean_checkout_reproduces_the_committed_bytes(grid: Project) -> None:
    assert grid.run("git", "status", "--short") == ""
    assert grid.results().keys() >= {
        "results/requests/bm25/metrics.json",
        "results/sample_project/bm25/metrics.json",
        "verdicts/requests/bm25.json",
        "verdicts/sample_project/bm25.json",
        "report.md",
    }


def test_a_second_repro_runs_nothing(grid: Project) -> None:
    assert grid.stages_run("dvc", "repro") == set()


def test_metrics_show_lists_every_cell(grid: Project) -> None:
    shown = grid.run("dvc", "metrics", "show", "--md")
    for cell in ("results/sample_project/bm25", "results/requests/bm25"):
        assert f"{cell}/metrics.json" in shown


def test_metrics_hold_finite_numbers_only(grid: Project) -> None:
    def leaves(value: object) -> list[object]:
        if isinstance(value, dict):
            return [leaf for part in value.values() for leaf in leaves(part)]
        return [value]

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for path in grid.folder.glob("results/*/*/metrics.json"):
        values = leaves(json.loads(path.read_text(), parse_constant=refuse))
        assert all(type(value) in (int, float) for value in values)


def test_outputs_have_no_absolute_path(grid: Project) -> None:
    for name, content in grid.results().items():
        assert str(grid.folder).encode() not in content, name


def test_the_built_in_questions_discriminate(grid: Project) -> None:
    metrics = json.loads(grid.read("results/sample_project/bm25/metrics.json"))
    assert metrics["mrr"] < 1.0


def test_metrics_diff_shows_what_a_changed_setting_moved(project: Project) -> None:
    project.run("git", "checkout", "--quiet", "-b", "other-k1")
    setting = next(line for line in project.read("params.yaml").splitlines() if "k1:" in line)
    project.replace("params.yaml", setting, f"{setting.partition(':')[0]}: 0.01")
    project.run("dvc", "repro")
    shown = project.run("dvc", "metrics", "diff", "main", "--md")
    assert f"{CELL}/metrics.json" in shown
    assert "ndcg_at_5" in shown


def test_a_changed_floor_runs_gates_only(project: Project) -> None:
    project.replace("params.yaml", "measure: mrr\n      min: 0.4", "measure: mrr\n      min: 0.41")
    assert project.stages_run("dvc", "repro") - {"settings"} == {"gate@sample_project-bm25"}


def test_a_changed_grade_asks_no_retriever_again(project: Project) -> None:
    project.replace(
        "data/queries/sample_project.json", '"db/connection.py": 0', '"db/connection.py": 1'
    )
    assert project.stages_run("dvc", "repro") == {
        "fixture@sample_project",
        "score@sample_project-bm25",
        "report",
        "gate@sample_project-bm25",
    }


def test_a_changed_module_runs_everything_of_its_repo(project: Project) -> None:
    with (project.folder / "data/sample_project/db/connection.py").open("a") as file:
        file.write("\n# one more line\n")
    ran = project.stages_run("dvc", "repro")
    assert {"fixture@sample_project", "index@sample_project-bm25"} <= ran
    assert "resources@bm25" not in ran


@pytest.mark.parametrize(
    ("source", "first", "never"),
    [
        ("src/rankgate/retrievers/bm25.py", "index@sample_project-bm25", "fixture@sample_project"),
        ("src/rankgate/measures/ndcg.py", "score@sample_project-bm25", "retrieve"),
        ("src/rankgate/judges/n15.py", "score@sample_project-bm25", "retrieve"),
        ("src/rankgate/gates.py", "gate@sample_project-bm25", "score@sample_project-bm25"),
        ("src/rankgate/corpus.py", "fixture@sample_project", "gate@sample_project-bm25"),
        ("stages/report.py", "report", "gate@sample_project-bm25"),
    ],
)
def test_changed_code_runs_the_stages_that_use_it(
    project: Project, source: str, first: str, never: str
) -> None:
    project.write(source, project.read(source) + "\n# changed\n")
    ran = project.stages_run("dvc", "repro")
    assert first in ran
    assert not any(stage.startswith(never) for stage in ran)


def test_another_retrievers_code_leaves_a_cell_alone(project: Project) -> None:
    add_wrong_retriever(project)
    assert project.stages_run("dvc", "repro") - {"settings"} == {"resources@bm25"}


def test_an_edit_of_conf_is_not_ignored_in_silence(project: Project) -> None:
    project.replace("conf/config.yaml", "relevant_grade: 1", "relevant_grade: 2")
    printed = project.run("dvc", "repro")
    assert "relevant_grade" in printed
    assert "make params" in printed


def test_exp_run_with_another_depth_adds_its_measures(project: Project) -> None:
    project.run(
        "dvc", "exp", "run", "-S", "repo=[requests]", "-S", "k=10", "-S", "cutoffs=[1,5,10]"
    )
    metrics = json.loads(project.read("results/requests/bm25/metrics.json"))
    assert 0.0 < metrics["recall_at_5"] <= metrics["recall_at_10"] <= 1.0
    assert "recall_at_3" not in metrics


def test_a_retriever_that_returns_the_wrong_modules_fails_the_gate(project: Project) -> None:
    add_wrong_retriever(project)
    project.run("rankgate", "params", "repo=[sample_project]", "retriever=[smallest]")
    printed = project.run("dvc", "repro", status=255)
    metrics = json.loads(project.read("results/sample_project/smallest/metrics.json"))
    gates = json.loads(project.read("verdicts/sample_project/smallest.json"))["gates"]
    failed = next(gate for gate in gates if gate["name"] == "every-query")
    assert not failed["passed"]
    assert failed["queries"]
    assert f"every-query: query.*.recall_at_5 = {failed['value']:g}, floor > 0" in printed
    assert failed["queries"][0] in printed
    assert metrics["recall_at_5"] < 0.5
    assert "smallest" in project.read("report.md")
    assert "miss" in project.read("results/sample_project/smallest/report.md")


def test_a_repo_and_a_retriever_are_added_without_touching_another_file(project: Project) -> None:
    add_wrong_retriever(project)
    project.write("data/tiny/colours.py", "def mix(red, blue):\n    return red + blue\n")
    project.write("data/tiny/shapes.py", "def area(width, height):\n    return width * height\n")
    query = {
        "id": "mix",
        "question": "How are colours mixed?",
        "shape": "focused",
        "relevance_grades": {"colours.py": 3},
        "gold_facts": ["mix adds red and blue", "mix takes red and blue"],
    }
    project.write("data/queries/tiny.json", json.dumps([query]))
    project.write(
        "conf/repo/tiny.yaml",
        "# @package repo.tiny\nsource: {type: local, path: data/tiny}\n"
        "queries: data/queries/tiny.json\n",
    )
    project.run(
        "dvc", "exp", "run", "-S", "repo=[tiny]", "-S", "retriever=[bm25,smallest]", status=None
    )
    status = project.run("git", "status", "--short", "conf", "src", "stages", "dvc.yaml")
    assert {line[:2] for line in status.splitlines()} == {"??"}
    assert json.loads(project.read("results/tiny/bm25/metrics.json"))["mrr"] == 1.0
    assert json.loads(project.read("results/tiny/smallest/metrics.json"))["queries"] == 1


def test_a_stage_runs_the_code_of_its_own_checkout(project: Project) -> None:
    del project.environment["PYTHONPATH"]  # which leaves the environment's: another checkout
    project.write(
        "src/rankgate/gates.py", project.read("src/rankgate/gates.py") + "\nraise OSError('mine')\n"
    )
    printed = project.run("python", "stages/gate.py", "sample_project", "bm25", status=1)
    assert "mine" in printed


def test_an_unknown_key_of_the_settings_is_an_error(project: Project) -> None:
    project.write("params.yaml", project.read("params.yaml") + "cuttoffs: [1]\n")
    assert "error: cuttoffs: unknown key" in project.run("dvc", "repro", status=255)


def test_params_yaml_is_what_conf_composes() -> None:
    assert "is not what" not in Project(ROOT).run("rankgate", "params", "--check")
