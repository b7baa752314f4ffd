"""Making a class from its config: every mistake is one line with its place."""

from pathlib import Path
from typing import Any

import pytest
from retrievers_for_tests import AnyOptions, Optioned

from rankgate.components import make, reason
from rankgate.config import Component
from rankgate.errors import InputError

WHERE = "retriever.x"


def of(target: str, **options: Any) -> Component:
    return Component(target, options)


def problems(component: Component) -> list[str]:
    with pytest.raises(InputError) as caught:
        make(component, WHERE)
    assert all(line.isprintable() for line in caught.value.problems)
    return list(caught.value.problems)


def test_a_class_is_made_with_its_options() -> None:
    assert isinstance(make(of("retrievers_for_tests.Optioned", limit=3), WHERE), Optioned)


def test_a_class_that_takes_any_option_gets_them_all() -> None:
    made = make(of("retrievers_for_tests.AnyOptions", a=1, b=[2]), WHERE)
    assert isinstance(made, AnyOptions)
    assert made.options == {"a": 1, "b": [2]}


def test_an_unknown_key_says_which_there_are() -> None:
    assert problems(of("retrievers_for_tests.Optioned", limit=1, foo=2)) == [
        "retriever.x.foo: unknown key (retrievers_for_tests.Optioned takes label, limit)"
    ]


def test_an_unknown_key_of_a_class_without_options_says_so() -> None:
    assert problems(of("retrievers_for_tests.Good", foo=2)) == [
        "retriever.x.foo: unknown key (retrievers_for_tests.Good takes none)"
    ]


def test_a_missing_key_is_named() -> None:
    assert problems(of("retrievers_for_tests.Optioned")) == ["retriever.x.limit: is missing"]


def test_all_wrong_keys_are_listed_at_once() -> None:
    assert len(problems(of("retrievers_for_tests.Optioned", foo=1, bar=2))) == 3


def test_a_value_that_the_class_refuses_is_named_by_its_key() -> None:
    assert problems(of("retrievers_for_tests.Optioned", limit=-1)) == [
        "retriever.x.limit: expected an integer from 0 up, got -1"
    ]


def test_a_value_of_a_wrong_type_is_one_line() -> None:
    assert problems(of("retrievers_for_tests.Optioned", limit="many")) == [
        "retriever.x: TypeError: '<' not supported between instances of 'str' and 'int'"
    ]


def test_any_other_error_of_the_class_is_one_line() -> None:
    assert problems(of("retrievers_for_tests.Optioned", limit=1, label="file")) == [
        "retriever.x: FileNotFoundError: no model here"
    ]


def test_a_missing_module_is_named() -> None:
    assert problems(of("no_such_package.mod.Class")) == [
        "retriever.x._target_: cannot import no_such_package.mod: ModuleNotFoundError: "
        "No module named 'no_such_package'"
    ]


@pytest.mark.parametrize("name", ["Nothing", "a_function", "subprocess"])
def test_what_is_no_class_is_named(name: str) -> None:
    assert problems(of(f"retrievers_for_tests.{name}")) == [
        f"retriever.x._target_: retrievers_for_tests has no class {name}"
    ]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("from os import no_such_name", "ImportError: cannot import name 'no_such_name' from 'os'"),
        ("def", "SyntaxError: "),
        ("raise RuntimeError('no\\nGPU')", "RuntimeError: no GPU"),
    ],
)
def test_a_module_that_does_not_import_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, why: str
) -> None:
    (tmp_path / "broken_for_tests.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    (line,) = problems(of("broken_for_tests.Class"))
    assert line.startswith(f"retriever.x._target_: cannot import broken_for_tests: {why}")


def test_a_reason_is_one_printable_line() -> None:
    assert reason(ValueError("a\nb\x1b[31m")) == "ValueError: a b [31m"


def test_a_reason_without_a_text_is_the_kind_alone() -> None:
    assert reason(TimeoutError()) == "TimeoutError"


def test_an_error_of_input_is_its_own_reason() -> None:
    assert reason(InputError("file: line 3: bad")) == "file: line 3: bad"
