"""Every command that the docs show works as it stands there."""

import re
import sys
from pathlib import Path

import pytest
from project import ROOT, Project
from systems_table import between_marks, systems_table

DOCS = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/*.md")),
]
# Set-up, and the tests themselves: CI has just run them, and would here run them again.
SET_UP = {"make repro", "make test", ". .venv/bin/activate"}


def blocks(path: str, language: str) -> list[str]:
    """The fenced code blocks of a language in a Markdown file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", text, flags=re.DOTALL | re.MULTILINE)


def commands(path: str) -> list[str]:
    """The shell commands of a Markdown file, without their comments."""
    lines = [line for block in blocks(path, "sh") for line in block.splitlines()]
    return [re.sub(r"\s+#.*", "", line).strip() for line in lines if line.strip()]


def test_the_readme_starts_with_the_two_commands_of_the_set_up() -> None:
    assert commands("README.md")[:2] == ["make repro", "make test"]


def test_every_command_of_the_readme_works(grid: Project, tmp_path: Path) -> None:
    project = grid.copy(tmp_path / "project")
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands("README.md"):
        if command in SET_UP:
            assert command.startswith(". ") or f"\n{command.split()[1]}:" in targets
        elif command == "make params":
            project.run("rankgate", "params")  # what it calls, without a second environment
        else:
            project.run("bash", "-c", command)


def test_no_other_page_shows_a_command_that_is_not_tried() -> None:
    tried = {"README.md", "docs/your-repository.md"}  # the latter by test_afternoon.py
    assert [command for path in DOCS if path not in tried for command in commands(path)] == []


def test_the_readme_s_python_passes_as_a_test_file(grid: Project, tmp_path: Path) -> None:
    (code,) = blocks("README.md", "python")
    project = grid.copy(tmp_path / "project")
    project.write("test_from_readme.py", code)
    project.run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_from_readme.py")


def test_the_example_query_is_a_sound_query_file(tmp_path: Path) -> None:
    from rankgate.queries import load_queries

    (example,) = blocks("docs/query-files.md", "json")
    path = tmp_path / "queries.json"
    path.write_text(f"[{example}]", encoding="utf-8")
    assert load_queries(path).warnings == ()


@pytest.mark.parametrize("path", DOCS)
def test_links_lead_to_files(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (ROOT / path).parent.joinpath(target).is_file(), target


def test_make_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.findall(r"^\.PHONY: (\S+)", makefile, flags=re.MULTILINE)
    shown = Project(ROOT).run("make", "--no-print-directory", "help")
    assert [line.split()[0] for line in shown.splitlines()] == phony
    assert {"help", "setup", "params", "repro", "test", "bench", "mutation"} <= set(phony)


def test_the_lock_pins_hashes_and_names_no_address() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        lock = (ROOT / name).read_text(encoding="utf-8")
        pinned = re.findall(r"^[A-Za-z0-9._-]+==", lock, flags=re.MULTILINE)
        assert len(pinned) > 50
        assert "://" not in lock
        assert all(
            "--hash=sha256:" in entry for entry in re.split(r"\n(?=\S)", lock) if "==" in entry
        )


def test_the_readme_s_table_of_systems_has_the_committed_numbers() -> None:
    """All but the last column, which is the latency of the machine that made it."""

    def without_latency(table: str) -> list[list[str]]:
        return [[cell.strip() for cell in line.split("|")[1:-2]] for line in table.splitlines()]

    _, shown, _ = between_marks((ROOT / "README.md").read_text(encoding="utf-8"))
    made = systems_table(ROOT / "results", {})
    assert len(made.splitlines()) >= 10
    # The rule under the head is as wide as the latencies.
    assert without_latency(shown)[2:] == without_latency(made)[2:]
