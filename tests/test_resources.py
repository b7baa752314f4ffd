"""What a retriever is made of: its own code and what that imports, read and never run."""

import hashlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rankgate.config import Component
from rankgate.errors import InputError
from rankgate.resources import code_of

# Whoever imports one of the modules is told.
LOUD = "raise SystemExit('this code was run')\n"
PACKAGE = {
    "__init__.py": LOUD,
    "one.py": f"{LOUD}from .helper import help_me\nimport json\n",
    "two.py": f"{LOUD}import packed.other\n",
    "helper.py": f"{LOUD}def late():\n    from packed.sub import deep\n",
    "other.py": LOUD,
    "sub/__init__.py": LOUD,
    "sub/deep.py": f"{LOUD}from .. import one\n",
    "unused.py": LOUD,
}

Write = Callable[[dict[str, str]], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes modules of the package `packed`, which can be imported."""

    def write_modules(modules: dict[str, str]) -> None:
        for name, source in modules.items():
            path = tmp_path / "packed" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source.encode())
        importlib.invalidate_caches()

    monkeypatch.syspath_prepend(tmp_path)
    return write_modules


def code(target: str) -> dict[str, str]:
    return code_of(Component(target, {}), "retriever.x")


def problem(target: str) -> str:
    with pytest.raises(InputError) as caught:
        code(target)
    (line,) = caught.value.problems
    return line


def test_it_is_the_module_and_all_it_imports_from_its_package(write: Write) -> None:
    write(PACKAGE)
    # one → helper → sub and sub.deep → the package, and one again
    names = ["packed", "packed.helper", "packed.one", "packed.sub", "packed.sub.deep"]
    assert list(code("packed.one.Class")) == names


def test_each_module_has_the_sha256_of_its_source(write: Write) -> None:
    write(PACKAGE)
    expected = hashlib.sha256(PACKAGE["helper.py"].encode()).hexdigest()
    assert code("packed.one.Class")["packed.helper"] == expected


@pytest.mark.parametrize("name", ["one.py", "helper.py", "sub/deep.py"])
def test_a_changed_module_that_it_uses_changes_it(write: Write, name: str) -> None:
    write(PACKAGE)
    before = code("packed.one.Class")
    write({name: PACKAGE[name] + "# changed\n"})
    assert code("packed.one.Class") != before


@pytest.mark.parametrize("name", ["two.py", "other.py", "unused.py"])
def test_a_changed_module_that_it_does_not_use_changes_nothing(write: Write, name: str) -> None:
    write(PACKAGE)
    before = code("packed.one.Class")
    write({name: PACKAGE[name] + "# changed\n"})
    assert code("packed.one.Class") == before


def test_a_new_import_adds_its_module(write: Write) -> None:
    write(PACKAGE)
    write({"two.py": PACKAGE["two.py"] + "from packed import unused\n"})
    assert "packed.unused" in code("packed.two.Class")


def test_a_constant_of_the_package_is_part_of_what_imports_it(write: Write) -> None:
    write({"__init__.py": "SIZE = 1\n", "one.py": "from packed import SIZE\n"})
    assert list(code("packed.one.Class")) == ["packed", "packed.one"]


def test_nothing_of_it_is_run(write: Write) -> None:
    write(PACKAGE)
    code("packed.one.Class")
    assert not [name for name in sys.modules if name.partition(".")[0] == "packed"]


def test_a_module_outside_a_package_stands_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lone_for_tests.py").write_text("import json\nfrom . import nothing\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert list(code("lone_for_tests.Class")) == ["lone_for_tests"]


def test_a_package_without_an_init_is_read(write: Write) -> None:
    write({"one.py": "from . import two\n", "two.py": ""})
    assert list(code("packed.one.Class")) == ["packed.one", "packed.two"]


def test_an_import_above_the_package_is_passed_over(write: Write) -> None:
    write({"__init__.py": "", "one.py": "from .... import far\nfrom .two import x\n", "two.py": ""})
    assert list(code("packed.one.Class")) == ["packed.one", "packed.two"]


def test_a_retriever_of_ours_has_nothing_of_another(write: Write) -> None:
    names = code("rankgate.retrievers.bm25.BM25")
    assert "rankgate.retrievers.bm25" in names
    assert not [name for name in names if name.startswith("rankgate.judges")]


@pytest.mark.parametrize(
    "target", ["no_such_package.mod.Class", "packed.nothing.Class", "json.x.y.Z"]
)
def test_a_missing_module_is_named(write: Write, target: str) -> None:
    write(PACKAGE)
    module = target.rpartition(".")[0]
    assert problem(target) == f"retriever.x._target_: cannot find the module {module}"


@pytest.mark.parametrize("source", ["def", "x = 1\0", "x = " + "(" * 500])
def test_a_module_that_is_no_python_is_named(write: Write, tmp_path: Path, source: str) -> None:
    write({"__init__.py": "", "one.py": "import packed.bad\n", "bad.py": source})
    path = tmp_path / "packed" / "bad.py"
    assert problem("packed.one.Class").startswith(f"retriever.x._target_: {path} is no Python: ")
