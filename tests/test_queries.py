"""Query files: what loads, what is refused and where the message points."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main
from rankgate.errors import InputError
from rankgate.queries import Query, QuerySet, Ungraded, load_queries

Write = Callable[..., Path]
CORPUS = ["a.py", "b/c.py"]


def query(**changes: Any) -> dict[str, Any]:
    """A sound query with some fields replaced; None takes one away."""
    fields = {
        "id": "q1",
        "question": "How is a token verified?",
        "shape": "focused",
        "relevance_grades": {"a.py": 3, "b/c.py": 0},
        "gold_facts": ["one fact", "another fact"],
    } | changes
    return {key: value for key, value in fields.items() if value is not None}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a query file: text or bytes as they are, anything else as JSON."""

    def write_file(content: Any) -> Path:
        path = tmp_path / "queries.json"
        if not isinstance(content, str | bytes):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def problems(
    path: Path, modules: list[str] | None = None, ungraded: Ungraded = "zero"
) -> list[str]:
    """The errors of a file, without its path in front."""
    with pytest.raises(InputError) as caught:
        load_queries(path, modules=modules, ungraded=ungraded)
    lines = caught.value.problems
    assert all(line.startswith(f"{path}: ") for line in lines)
    assert all(line.isprintable() for line in lines)
    return [line.removeprefix(f"{path}: ") for line in lines]


def warnings(path: Path) -> list[str]:
    return [line.removeprefix(f"{path}: ") for line in load_queries(path).warnings]


# What loads


def test_a_list_of_queries_loads(write: Write) -> None:
    (only,) = load_queries(write([query()])).queries
    assert (only.id, only.question, only.shape) == ("q1", "How is a token verified?", "focused")
    assert only.grades == {"a.py": 3, "b/c.py": 0}
    assert only.facts == ("one fact", "another fact")


def test_an_object_with_queries_loads(write: Write) -> None:
    loaded = load_queries(write({"version": 1, "description": "mine", "queries": [query()]}))
    assert (loaded.description, len(loaded.queries)) == ("mine", 1)


def test_queries_keep_the_order_of_the_file(write: Write) -> None:
    loaded = load_queries(write([query(id=name) for name in "cab"]))
    assert [one.id for one in loaded.queries] == ["c", "a", "b"]


def test_the_file_of_the_n15_specification_loads_as_it_is(write: Write) -> None:
    # The example of reference/n15_specification.txt in NeuralMind's envelope.
    path = write(
        {
            "version": 1,
            "description": "Relevance: 0=irrelevant, 3=essential.\nFacts come from the source.",
            "queries": [
                {
                    "id": "jwt-verify",
                    "question": "How does JWT signature verification work?",
                    "shape": "focused",
                    "relevance_grades": {
                        "auth/jwt_utils.py": 3,
                        "auth/handlers.py": 1,
                        "api/routes.py": 0,
                        "billing/stripe_client.py": 0,
                        "billing/invoices.py": 0,
                        "users/crud.py": 0,
                        "db/connection.py": 0,
                    },
                    "gold_facts": [
                        "JWT verification uses HMAC-SHA256",
                        "decode_token verifies the signature",
                        "decode_token checks token expiry",
                        "TokenExpiredError is raised when expired",
                    ],
                }
            ],
        }
    )
    loaded = load_queries(path)
    assert loaded.queries[0].grades["auth/jwt_utils.py"] == 3
    assert loaded.warnings == ()


def test_optional_fields_are_read(write: Write) -> None:
    path = write(
        [
            query(
                fact_aliases={"one fact": ["a fact"]},
                tags=["auth"],
                provenance={"one fact": ["a.py:1-9"], "b/c.py": ["b/c.py:2-2"]},
            )
        ]
    )
    (only,) = load_queries(path).queries
    assert only.aliases == {"one fact": ("a fact",)}
    assert only.tags == ("auth",)
    assert only.provenance == {"one fact": ("a.py:1-9",), "b/c.py": ("b/c.py:2-2",)}


def test_a_byte_order_mark_is_accepted(write: Write) -> None:
    assert load_queries(write(b"\xef\xbb\xbf" + json.dumps([query()]).encode())).queries


def test_the_sha256_is_of_the_bytes_of_the_file(write: Write) -> None:
    content = b"\xef\xbb\xbf" + json.dumps([query()], indent=4).encode() + b"\r\n"
    assert load_queries(write(content)).sha256 == hashlib.sha256(content).hexdigest()


def test_a_file_is_read_once() -> None:
    """A pipe, as in `rankgate check <(generate)`, gives its bytes once."""

    class Pipe(type(Path())):  # type: ignore[misc]
        reads = 0

        def read_bytes(self) -> bytes:
            Pipe.reads += 1
            return json.dumps([query()]).encode()

    load_queries(Pipe("/dev/fd/63"))
    assert Pipe.reads == 1


@pytest.mark.parametrize(
    "question",
    [
        "word " * 20_000,
        "🤔🔥👩‍👩‍👧",
        "the of and a to",
        "zwei\nZeilen\tund ein Tab",
        "اردو؟",
        "%",
        "x",
    ],
    ids=["100kB", "emoji", "stop words", "two lines", "right to left", "a sign", "a letter"],
)
def test_an_odd_question_is_kept_as_it_is(write: Write, question: str) -> None:
    assert load_queries(write([query(question=question)])).queries[0].question == question


def test_the_shapes_are_those_that_occur_in_a_fixed_order(write: Write) -> None:
    path = write([query(id="1", shape="identity"), query(id="2", shape="focused")])
    assert load_queries(path).shapes == ("focused", "identity")


def test_a_file_may_declare_a_shape(write: Write) -> None:
    path = write({"shapes": ["multi hop"], "queries": [query(shape="multi hop")]})
    assert load_queries(path).shapes == ("multi hop",)


def test_grades_below_the_relevant_grade_are_kept(write: Write) -> None:
    loaded = load_queries(write([query(relevance_grades={"a.py": 3, "b": 1})]), relevant_grade=3)
    assert loaded.qrels() == {"q1": {"a.py": 3, "b": 1}}


# What is refused, one field at a time


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": None}, "query 1: id: is missing"),
        ({"id": ""}, "query 1: id: is empty"),
        ({"id": " \t"}, "query 1: id: is empty"),
        ({"id": 7}, "query 1: id: expected a string, got 7"),
        ({"id": "a\nb"}, "query 1: id: has a NUL or a line break"),
        ({"id": "a\u2028b"}, "query 1: id: has a NUL or a line break"),
        ({"id": "a\0b"}, "query 1: id: has a NUL or a line break"),
        ({"id": "\ud800"}, "query 1: id: has half of a surrogate pair, which is no text"),
        ({"question": None}, "query 'q1': question: is missing"),
        ({"question": " \n"}, "query 'q1': question: is empty"),
        ({"question": ["How?"]}, "query 'q1': question: expected a string, got a list"),
        ({"question": "a\0b"}, "query 'q1': question: has a NUL or a line break"),
        (
            {"question": "x\ud800"},
            "query 'q1': question: has half of a surrogate pair, which is no text",
        ),
        ({"shape": None}, "query 'q1': shape: is missing"),
        (
            {"shape": "Focused"},
            "query 'q1': shape: expected one of focused, cross-file, identity, got 'Focused'",
        ),
        ({"gold_facts": None}, "query 'q1': gold_facts: is missing"),
        (
            {"gold_facts": []},
            "query 'q1': gold_facts: the query has no gold fact; 2 to 4 are expected",
        ),
        (
            {"gold_facts": "one"},
            "query 'q1': gold_facts: expected a list of strings, got 'one'",
        ),
        ({"gold_facts": ["a fact", " "]}, "query 'q1': gold_facts[1]: is empty"),
        ({"gold_facts": ["a fact", 1]}, "query 'q1': gold_facts[1]: expected a string, got 1"),
        (
            {"gold_facts": ["a fact", "a fact"]},
            "query 'q1': gold_facts[1]: stands there twice: 'a fact'",
        ),
        ({"relevance_grades": None}, "query 'q1': relevance_grades: is missing"),
        (
            {"relevance_grades": [["a.py", 3]]},
            "query 'q1': relevance_grades: expected an object, got a list",
        ),
        (
            {"relevance_grades": {}},
            "query 'q1': relevance_grades: no module is relevant (none has grade 1 or up)",
        ),
        (
            {"relevance_grades": {"a.py": 0}},
            "query 'q1': relevance_grades: no module is relevant (none has grade 1 or up)",
        ),
        (
            {"fact_aliases": {"no such": ["x"]}},
            "query 'q1': fact_aliases['no such']: no gold fact of this query",
        ),
        ({"fact_aliases": ["x"]}, "query 'q1': fact_aliases: expected an object, got a list"),
        (
            {"fact_aliases": {"one fact": "x"}},
            "query 'q1': fact_aliases['one fact']: expected a list of strings, got 'x'",
        ),
        ({"tags": "auth"}, "query 'q1': tags: expected a list of strings, got 'auth'"),
        (
            {"provenance": {"d.py": ["d.py:1-2"]}},
            "query 'q1': provenance['d.py']: neither a gold fact nor a graded module",
        ),
        *(
            (
                {"provenance": {"a.py": [place]}},
                "query 'q1': provenance['a.py']: expected module:first-last such as "
                f"auth/handlers.py:10-24, got '{place}'",
            )
            for place in ["a.py", "a.py:9-1", "a.py:0-1", "../a.py:1-2", "a.py:1-" + "9" * 50]
        ),
    ],
)
def test_a_bad_field_is_named(write: Write, changes: dict[str, Any], message: str) -> None:
    assert problems(write([query(**changes)])) == [message]


@pytest.mark.parametrize(
    ("grade", "shown"),
    [
        ("true", "true"),
        ("false", "false"),
        ("2.0", "2.0"),
        ('"3"', "'3'"),
        ("null", "null"),
        ("NaN", "nan"),
        ("Infinity", "inf"),
        ("-Infinity", "-inf"),
        ("1e999", "inf"),
        ("-1", "-1"),
        ("4", "4"),
        ("1" + "0" * 30, "1" + "0" * 30),
        ("[3]", "a list"),
        ('{"grade": 3}', "an object"),
    ],
)
def test_a_grade_that_is_no_integer_from_0_to_3_is_named(
    write: Write, grade: str, shown: str
) -> None:
    text = json.dumps([query()]).replace('"b/c.py": 0', f'"b/c.py": {grade}')
    message = f"query 'q1': relevance_grades['b/c.py']: expected an integer 0..3, got {shown}"
    assert problems(write(text)) == [message]


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("/etc/passwd", "is absolute; give it relative to the corpus root"),
        ("C:/a.py", "is absolute; give it relative to the corpus root"),
        ("b\\c.py", "has a backslash; write it with /"),
        ("../a.py", "has '..'; give it relative to the corpus root"),
        ("b/../a.py", "has '..'; give it relative to the corpus root"),
        *(
            (module, "is no plain relative path such as auth/handlers.py")
            for module in ["", ".", "./a.py", "b//c.py", "b/", "b/./c.py", "a\n.py", "\ud800.py"]
        ),
    ],
)
def test_a_module_that_is_no_plain_relative_path_is_named(
    write: Write, module: str, why: str
) -> None:
    path = write([query(relevance_grades={"a.py": 3, module: 0})])
    assert problems(path) == [f"query 'q1': relevance_grades[{module!r}]: the path {why}"]


@pytest.mark.parametrize("module", ["..b.py", "a..b/c", ".hidden/x", "a b.py", "文件.py", "ab:c"])
def test_an_odd_but_plain_path_is_a_module(write: Write, module: str) -> None:
    path = write([query(relevance_grades={module: 3})])
    assert load_queries(path).queries[0].grades == {module: 3}


def test_a_relevant_grade_that_no_module_has_is_an_error(write: Write) -> None:
    path = write([query(relevance_grades={"a.py": 2})])
    with pytest.raises(InputError, match="no module is relevant \\(none has grade 3 or up\\)"):
        load_queries(path, relevant_grade=3)


def test_a_duplicate_id_names_both_queries(write: Write) -> None:
    path = write([query(), query(id="q2"), query()])
    assert problems(path) == ["query 'q1': id: queries 1 and 3 share this id"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"queries": [], "queries": [Q]}', "'queries': key given twice"),
        ('[{"id": "q0", "id": Q_ID, Q_REST}]', "query 'q1': 'id': key given twice"),
        (
            '[{Q_ALL, "relevance_grades": {"a.py": 0, "a.py": 3}}]',
            "query 'q1': relevance_grades['a.py']: key given twice",
        ),
        (
            '[{Q_ALL, "fact_aliases": {"one fact": [], "one fact": []}}]',
            "query 'q1': fact_aliases['one fact']: key given twice",
        ),
        ('[{Q_ALL, "x": [{"y": {"z": 1, "z": 2}}]}]', "query 'q1': 'x': 'z': key given twice"),
        ('{"x": {"z": 1, "z": 2}, "queries": [Q]}', "'x': 'z': key given twice"),
    ],
)
def test_a_key_given_twice_is_an_error_at_any_depth(write: Write, text: str, message: str) -> None:
    whole = query()
    for mark, fields in {
        "Q_ALL": {key: value for key, value in whole.items() if f'"{key}"' not in text},
        "Q_REST": {key: value for key, value in whole.items() if key != "id"},
    }.items():
        text = text.replace(mark, json.dumps(fields)[1:-1])
    text = text.replace("Q_ID", '"q1"').replace("[Q]", json.dumps([whole]))
    assert problems(write(text)) == [message]


@pytest.mark.parametrize("shape", ["a.b", "*", "a\tb"])
def test_a_declared_shape_fits_a_gates_measure(write: Write, shape: str) -> None:
    (message,) = problems(write({"shapes": [shape], "queries": [query()]}))
    assert message == f"shapes[0]: has '.', '*' or a control character: {shape!r}"


@pytest.mark.parametrize("version", [2, "1", True, 1.0, None])
def test_an_unknown_version_is_an_error(write: Write, version: object) -> None:
    (message,) = problems(write({"version": version, "queries": [query()]}))
    assert message.startswith("version: expected 1, got ")


# Whole files


def test_all_errors_of_a_file_are_listed_at_once(write: Write) -> None:
    path = write(
        [
            query(question="", shape="wide"),
            "no query",
            query(id="q3", relevance_grades={"a.py": 9, "../b": 1}, gold_facts=[]),
            query(id="q1", gold_facts=[""]),
        ]
    )
    assert problems(path) == [
        "query 'q1': question: is empty",
        "query 'q1': shape: expected one of focused, cross-file, identity, got 'wide'",
        "query 2: expected an object, got 'no query'",
        "query 'q3': relevance_grades['a.py']: expected an integer 0..3, got 9",
        "query 'q3': relevance_grades['../b']: the path has '..'; "
        "give it relative to the corpus root",
        "query 'q3': gold_facts: the query has no gold fact; 2 to 4 are expected",
        "query 'q1': gold_facts[0]: is empty",
        "query 'q1': id: queries 1 and 4 share this id",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON: line 1, column 1: Expecting value"),
        (b"[1,\n 2", "not JSON: line 2, column 3: Expecting ',' delimiter"),
        ("[]".encode("utf-16"), "not UTF-8 (byte 0); save it as UTF-8"),
        (b'["\xe9"]', "not UTF-8 (byte 2); save it as UTF-8"),
        (b"[\0]", "not JSON: line 1, column 2: Expecting value"),
        (b"[" * 100_000, "not usable JSON: nested too deeply"),
        (b'{"a":' * 100_000, "not usable JSON: nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "not usable JSON: a number of thousands of digits"),
        (b"[]", "queries: the file has no query"),
        (b"{}", "queries: expected a list, got null"),
        (b'{"queries": {}}', "queries: expected a list, got an object"),
        (b'"text"', "expected a list of queries or an object with 'queries'"),
        (b"null", "expected a list of queries or an object with 'queries'"),
        (b"NaN", "expected a list of queries or an object with 'queries'"),
    ],
)
def test_a_file_that_is_none_of_queries_is_one_line(
    write: Write, content: bytes, message: str
) -> None:
    assert problems(write(content)) == [message]


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    assert problems(tmp_path / "none.json") == ["no such file"]


def test_a_folder_is_one_line(tmp_path: Path) -> None:
    assert problems(tmp_path) == ["is a folder, expected a file"]


def test_an_error_never_repeats_a_long_text(write: Write) -> None:
    long = "x" * 100_000
    path = write([query(id=long, shape=long, relevance_grades={f"/{long}": long, long: 1})])
    assert max(map(len, problems(path))) < 500


def test_many_facts_are_checked_in_no_time(write: Write) -> None:
    facts = [f"fact {number}" for number in range(100_000)]
    assert len(load_queries(write([query(gold_facts=facts)])).queries[0].facts) == 100_000


# Against a corpus


def test_a_file_that_fits_its_corpus_loads(write: Write) -> None:
    assert load_queries(write([query()]), modules=CORPUS, ungraded="error").queries


def test_a_module_that_the_corpus_lacks_is_named(write: Write) -> None:
    path = write([query(relevance_grades={"a.py": 3, "A.py": 0})])
    message = "query 'q1': relevance_grades['A.py']: the corpus has no such module"
    assert problems(path, CORPUS) == [message]


def test_without_a_corpus_any_module_will_do(write: Write) -> None:
    assert load_queries(write([query(relevance_grades={"nowhere.py": 3})])).queries


def test_ungraded_error_names_every_module_without_a_grade(write: Write) -> None:
    path = write([query(relevance_grades={"a.py": 3})])
    assert problems(path, ["a.py", "z.py", "b/c.py"], "error") == [
        f"query 'q1': relevance_grades['{module}']: this corpus module has no grade "
        "(grade it, or set ungraded: zero)"
        for module in ("b/c.py", "z.py")
    ]


@pytest.mark.parametrize("ungraded", ["zero", "skip"])
def test_ungraded_zero_and_skip_need_no_grade(write: Write, ungraded: Ungraded) -> None:
    path = write([query(relevance_grades={"a.py": 3})])
    assert load_queries(path, modules=CORPUS, ungraded=ungraded).queries


def test_a_bad_grade_is_not_a_missing_grade_as_well(write: Write) -> None:
    path = write([query(relevance_grades={"a.py": 3, "b/c.py": None})])
    message = "query 'q1': relevance_grades['b/c.py']: expected an integer 0..3, got null"
    assert problems(path, CORPUS, "error") == [message]


def test_a_query_that_is_no_object_lacks_no_grades(write: Write) -> None:
    assert problems(write([1]), CORPUS, "error") == ["query 1: expected an object, got 1"]


def test_a_query_without_an_id_is_named_by_its_place(write: Write) -> None:
    path = write([query(), query(id=None, relevance_grades={"d.py": 3, "a.py": 0, "b/c.py": 0})])
    assert problems(path, CORPUS, "error") == [
        "query 2: id: is missing",
        "query 2: relevance_grades['d.py']: the corpus has no such module",
    ]


def test_the_command_names_a_module_that_the_corpus_lacks(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.py").touch()
    path = write([query()])
    assert main(["check", str(path), "--corpus", str(tmp_path / "corpus")]) == 2
    message = "query 'q1': relevance_grades['b/c.py']: the corpus has no such module"
    assert capsys.readouterr().err == f"error: {path}: {message}\n"


# What only warns


@pytest.mark.parametrize("count", [1, 5, 9])
def test_an_unusual_number_of_facts_warns(write: Write, count: int) -> None:
    path = write([query(gold_facts=[f"fact {number}" for number in range(count)])])
    assert warnings(path) == [f"query 'q1': gold_facts: 2 to 4 are expected, got {count}"]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_two_to_four_facts_do_not_warn(write: Write, count: int) -> None:
    path = write([query(gold_facts=[f"fact {number}" for number in range(count)])])
    assert warnings(path) == []


def test_an_unknown_key_of_a_query_warns(write: Write) -> None:
    assert warnings(write([query(difficulty=3)])) == [
        "query 'q1': 'difficulty': unknown key, ignored (known: allow, fact_aliases, gold_facts, "
        "id, provenance, question, relevance_grades, shape, tags)"
    ]


def test_an_unknown_key_of_the_file_warns(write: Write) -> None:
    assert warnings(write({"author": "me", "queries": [query()]})) == [
        "'author': unknown key, ignored (known: description, facts, queries, shapes, version)"
    ]


def test_a_loaded_file_is_frozen(write: Write) -> None:
    loaded: QuerySet = load_queries(write([query()]))
    with pytest.raises(AttributeError):
        loaded.queries[0].id = "other"  # type: ignore[misc]


def test_digests_tell_equal_ground_truth_from_other() -> None:
    plain = Query("q", "why?", "focused", {"a.py": 3, "b.py": 1}, ("one", "two"))
    other_order = replace(plain, grades={"b.py": 1, "a.py": 3}, tags=("x",), id="r")
    judged = replace(plain, grades={**plain.grades, "c.py": 0})
    assert plain.grades_digest() == other_order.grades_digest() == judged.grades_digest()
    assert plain.facts_digest() == other_order.facts_digest()
    for changed in (
        replace(plain, question="how?"),
        replace(plain, grades={"a.py": 3, "b.py": 2}),
        replace(plain, grades={"a.py": 3}),
    ):
        assert changed.grades_digest() != plain.grades_digest()
    for changed in (
        replace(plain, question="how?"),
        replace(plain, facts=("one",)),
        replace(plain, aliases={"one": ("uno",)}),
    ):
        assert changed.facts_digest() != plain.facts_digest()
