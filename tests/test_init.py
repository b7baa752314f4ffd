"""`rankgate init`: a repo's config, and whole new projects that use the installed package."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from project import ROOT, Project

from rankgate.cli import main
from rankgate.config import load_settings
from rankgate.corpus import write_corpus
from rankgate.queries import load_queries
from rankgate.scaffolding import look_at
from rankgate.sources import candidates

SHOP = '''"""Orders."""


def checkout(basket):
    """Turns the chosen articles into an order and reserves stock.

    Raises when an article is sold out in the meantime.
    """


def cancel(order):
    """Gives the reserved stock back and refunds the customer."""
'''


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    project = Project(tmp_path / "shop")
    project.environment["PYTHONPATH"] = str(ROOT / "src")
    project.write("src/orders.py", SHOP)
    project.write("src/tax.py", '"""Tax."""\n\nRATE = 0.2\n')
    project.write("web/page.ts", "export const page = 1;\n")
    project.run("git", "init", "--quiet", "--initial-branch=main")
    project.commit("shop")
    return project


def head(project: Project) -> str:
    return project.run("git", "rev-parse", "HEAD").strip()


def test_a_repository_is_pinned_to_its_commit_with_its_languages(shop: Project) -> None:
    repository = look_at(shop.folder)
    assert repository.commit == head(shop)
    assert repository.endings == ("py", "ts")


def test_in_a_project_it_adds_a_config_and_a_sound_query_file(
    shop: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = tmp_path / "project"
    for name in ("conf", "data", "dvc.yaml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        project.mkdir(exist_ok=True)
        copy(ROOT / name, project / name)
    monkeypatch.chdir(project)
    assert main(["init", "../shop"]) == 0
    assert "rankgate mine shop --out proposals.json" in capsys.readouterr().out
    assert main(["params", "repo=[shop]"]) == 0
    repo = load_settings().repos["shop"]
    assert (repo.source.url, repo.source.commit) == ("../shop", head(shop))  # type: ignore[union-attr]
    assert repo.include == ("*.py", "*.ts")
    (query,) = load_queries(repo.queries).queries
    assert query.question == "What turns the chosen articles into an order and reserves stock?"
    assert query.grades == {"src/orders.py": 3}
    assert main(["init", "../shop"]) == 2
    assert "conf/repo/shop.yaml: is there already" in capsys.readouterr().err


def test_elsewhere_it_makes_a_project_that_runs(shop: Project) -> None:
    printed = shop.run("rankgate", "init")
    assert "cd benchmark && dvc repro" in printed
    benchmark = Project(shop.folder / "benchmark")
    benchmark.environment["PYTHONPATH"] = str(ROOT / "src")
    benchmark.run("dvc", "repro")
    assert "shop" in benchmark.run("rankgate", "report")
    assert benchmark.stages_run("dvc", "repro") == {"code"}

    # An upgraded package: its judge has changed.
    installed = shop.folder / "upgraded/rankgate"
    shutil.copytree(ROOT / "src/rankgate", installed)
    for name in ("dvc.yaml", "conf", "stages"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (installed / "project").mkdir(exist_ok=True)
        copy(ROOT / name, installed / "project" / name)
    benchmark.environment["PYTHONPATH"] = str(shop.folder / "upgraded")
    judge = installed / "judges/n15.py"
    judge.write_text(judge.read_text() + "\n# changed\n")
    ran = benchmark.stages_run("dvc", "repro")
    # `resources` writes down a retriever's own code, which is as it was.
    assert {name.partition("@")[0] for name in ran} == {"code", "resources", "score"}


def test_new_project_is_this_one_without_its_library(shop: Project) -> None:
    shop.run("rankgate", "init", ".", "--into", "b")
    made = shop.folder / "b"
    for path in sorted((ROOT / "stages").glob("*.py")):
        assert (made / "stages" / path.name).read_bytes() == path.read_bytes()
    ours, theirs = ((top / "dvc.yaml").read_text() for top in (ROOT, made))
    assert "src/rankgate" not in theirs
    kept = [line for line in ours.splitlines() if "src/rankgate" not in line]
    code = [line for line in theirs.splitlines() if "work/code" not in line]
    start = code.index(
        "  code: # of the installed rankgate, by stage: an upgrade runs anew what it changes"
    )
    del code[start : start + 6]
    assert code == kept


def test_wheel_has_the_files_of_a_project(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(
        ROOT,
        source,
        ignore=shutil.ignore_patterns(".git", ".venv", "work", "cache", "build", "tmp"),
    )
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--wheel-dir", str(tmp_path), str(source)),
        ],
        check=True,
        env=os.environ | {"PIP_NO_INDEX": "1"},
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {n for n in archive.namelist() if n.startswith("rankgate/project/")}
        for name in ("dvc.yaml", ".dvc/config", "conf/config.yaml", "stages/score.py"):
            assert archive.read(f"rankgate/project/{name}") == (ROOT / name).read_bytes()
    assert not any("__pycache__" in name for name in names)


def test_outside_of_git_the_new_project_is_a_repository_of_its_own(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.environment["PYTHONPATH"] = str(ROOT / "src")
    project.write("code/src/orders.py", SHOP)
    project.run("rankgate", "init", "code", "--into", "bench")
    assert (tmp_path / "bench/.git").is_dir()
    Project(tmp_path / "bench").run("dvc", "status")


def test_a_repository_without_a_commit_is_refused(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("orders.py", SHOP)
    project.run("git", "init", "--quiet")
    printed = project.run("rankgate", "init", status=2)
    assert printed == "error: .: the git repository has no commit yet\n"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("2024", "repo_2024"),
        ("true", "repo_true"),
        ("with space", "with_space"),
        ("ünï'q\"uote", "n_q_uote"),
        ("a:b", "a_b"),
        ("tab\tline\u2028x", "tab_line_x"),
        ("\x7f", "repo"),
    ],
)
def test_any_folder_name_gives_a_config_that_composes(
    folder: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    assert main(["init", folder, "--into", "made"]) == 0
    monkeypatch.chdir(tmp_path / "made")
    source = load_settings().repos[name].source
    assert source.path == f"../{folder}"  # type: ignore[union-attr]


def test_a_project_inside_of_a_folder_without_git_is_no_part_of_its_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--name", "shop", "--into", "tools/[new] bench"]) == 0
    assert "cd 'tools/[new] bench' && dvc repro" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path / "tools/[new] bench")
    repo = load_settings().repos["shop"]
    files = candidates(repo.source, "repo.shop.source")
    made = write_corpus(
        *(Path("corpus"), files), where="shop", source={}, include=["*.py"], exclude=repo.exclude
    )
    assert made.paths == ("a.py",)


def test_the_example_is_of_the_commit_not_of_the_work_tree(shop: Project) -> None:
    shop.write("src/aaa.py", 'def f():\n    """Is not in the commit but has a documentation."""\n')
    shop.write("src/orders.py", "")
    shop.run("rankgate", "init")
    (query,) = load_queries(shop.folder / "benchmark/data/queries/shop.json").queries
    assert query.grades == {"src/orders.py": 3}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "nowhere: no such folder"),
        (("empty",), "empty: no source file of a language that is known"),
        (("code", "--name", "a b"), "--name: has letters"),
        (("code", "--name", ""), "--name: has letters"),
        (("code", "--name", "2024"), "begins with a letter"),
        (("code", "--name", "On"), "no word of YAML"),
        (("only_tests",), "only_tests: has nothing but tests"),
        (("dollar${x}",), "a config cannot name a path with '${'"),
        ((os.fsdecode(b"\xff"),), "is not UTF-8"),
        (("code", "--into", "full"), "full: is not empty"),
    ],
)
def test_wrong_words_get_one_line_and_write_nothing(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("empty", "full", "code"):
        (tmp_path / name).mkdir()
    (tmp_path / "full/file").touch()
    for name in ("code/a.py", "only_tests/test_a.py", "dollar${x}/a.py", os.fsdecode(b"\xff/a.py")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    assert main(["init", *words]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert len(printed.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before
