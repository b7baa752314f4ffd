"""The linter of query files: each rule finds what it is for and leaves sound files alone."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from project import ROOT
from scipy.stats import binomtest

from rankgate import cli
from rankgate.linting import CODES
from rankgate.linting.truth import wilson
from rankgate.linting.wording import symbols

Check = Callable[..., dict[str, Any]]
JWT = '''\
"""Tokens."""


class TokenSigner:
    def sign_claims(self, claims):
        """The signature is HMAC over header and payload."""
        return hmac(self.key, claims)
'''
HANDLERS = "def login(request):\n    return check_password(request.user, request.password)\n"
MODULES = {"auth/jwt.py": JWT, "auth/handlers.py": HANDLERS, "db.py": "PATH = 'app.db'\n"}


def query(**changes: Any) -> dict[str, Any]:
    """A sound query on MODULES with some fields replaced; None takes one away."""
    fields = {
        "id": "sign",
        "question": "How do we make sure that nobody forges a session?",
        "shape": "focused",
        "relevance_grades": {"auth/jwt.py": 3, "auth/handlers.py": 1},
        "gold_facts": ["the signature is an HMAC", "it covers header and payload"],
        "provenance": {"auth/jwt.py": ["auth/jwt.py:4-7"]},
    } | changes
    return {key: value for key, value in fields.items() if value is not None}


@pytest.fixture
def check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Check:
    """`check` of these queries against MODULES, as JSON; the files are in the working folder."""
    monkeypatch.chdir(tmp_path)
    write(MODULES)

    def run(content: Any, *words: str, status: int = 0, corpus: str = "code") -> dict[str, Any]:
        text = content if isinstance(content, str) else dump(content)
        Path("q.json").write_text(text, encoding="utf-8")
        against = ("--corpus", corpus) if corpus else ()
        assert cli.main(["check", "q.json", *against, "--json", *words]) == status
        found = json.loads(capsys.readouterr().out)
        assert isinstance(found, dict)
        return found

    return run


def write(modules: dict[str, str], folder: str = "code") -> None:
    for path, text in modules.items():
        target = Path(folder, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def codes(found: dict[str, Any], *, without: str = "Q501") -> list[str]:
    return [one["code"] for one in found["findings"] if one["code"] != without]


def messages(found: dict[str, Any], code: str) -> list[str]:
    return [one["message"] for one in found["findings"] if one["code"] == code]


def test_a_sound_query_has_no_finding(check: Check) -> None:
    assert codes(check([query()])) == []


@pytest.mark.parametrize("name", ["requests", "sample_project"])
def test_the_committed_query_files_have_leaks_and_holes_at_most(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alone they are clean; what names a symbol shows against the corpus only."""
    assert cli.main(["check", str(ROOT / f"data/queries/{name}.json"), "--strict"]) == 0


# --- Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("[", "Q001"),
        ("3", "Q001"),
        ('[{"id": "a", "id": "b"}]', "Q002"),
        ([query(question=None)], "Q003"),
        ([query(question=" ")], "Q003"),
        ([3], "Q004"),
        ([query(question=3)], "Q004"),
        ([query(), query()], "Q005"),
        ([query(relevance_grades={"auth/jwt.py": True})], "Q006"),
        ([query(relevance_grades={"../jwt.py": 3})], "Q007"),
        ([query(relevance_grades={"auth/jwt.py": 0})], "Q008"),
        ([query(shape="round")], "Q010"),
        ([query(gold_facts=[])], "Q011"),
        ([query(fact_aliases={"another": ["x"]})], "Q014"),
        ([query(provenance={"auth/jwt.py": ["auth/jwt.py"]})], "Q015"),
        ([query(tags=["why", "why"])], "Q016"),
        ([query(relevance_grades={"auth/jwt.py": 3, "x.py": 0})], "Q101"),
        ({"facts": "none", "queries": [query()]}, "Q004"),
        ({"facts": False, "queries": [query()]}, "Q014"),
    ],
)
def test_an_error_has_its_code_and_ends_with_2(check: Check, content: Any, code: str) -> None:
    found = check(content, status=2)
    assert code in codes(found)
    assert len(found["errors"]) == len(found["findings"])
    assert all(one["severity"] == "error" for one in found["findings"])


def test_a_module_without_a_grade_is_q009_on_demand(check: Check) -> None:
    found = check([query()], "--ungraded", "error", status=2)
    assert codes(found) == ["Q009"]
    assert "db.py" in found["findings"][0]["field"]


def test_the_lines_of_errors_are_those_of_every_other_command(check: Check) -> None:
    found = check([query(shape="round")], status=2)
    assert found["errors"] == [
        "q.json: query 'sign': shape: expected one of focused, cross-file, identity, got 'round'"
    ]


def test_every_code_is_in_the_docs_with_its_severity() -> None:
    docs = (ROOT / "docs/query-files.md").read_text(encoding="utf-8")
    rows = [line for line in docs.splitlines() if line.startswith("| Q")]
    assert rows == [f"| {code} | {sev} | {text} |" for code, (sev, text) in CODES.items()]


# --- Modules that moved ---------------------------------------------------------------------------


def test_a_moved_module_is_proposed_by_content_and_fixed(check: Check) -> None:
    write(MODULES, "old")
    write({f"src/{path}": text for path, text in MODULES.items()}, "new")
    found = check([query()], "--old-corpus", "old", corpus="new", status=2)
    assert messages(found, "Q101") == [
        "the corpus has no such module; is it src/auth/jwt.py now (same bytes)?",
        "the corpus has no such module; is it src/auth/handlers.py now (same bytes)?",
    ]
    found = check([query()], "--old-corpus", "old", "--fix", corpus="new")
    assert codes(found) == []
    assert Path("q.json").read_text() == dump(
        [
            query(
                relevance_grades={"src/auth/jwt.py": 3, "src/auth/handlers.py": 1},
                provenance={"src/auth/jwt.py": ["src/auth/jwt.py:4-7"]},
            )
        ]
    )
    assert found["fixed"][0] == "q.json: query 'sign': auth/jwt.py is src/auth/jwt.py now"


def test_an_edited_module_is_proposed_but_never_fixed(check: Check) -> None:
    body = "".join(f"line {i}\n" for i in range(20))
    write(MODULES | {"auth/jwt.py": body}, "old")
    write({"auth/handlers.py": HANDLERS, "tokens.py": body.replace("line 9\n", "other\n")}, "new")
    # 18 shingles of three lines each, of which the edit changes 3: 15 of 21 are shared.
    found = check([query()], "--old-corpus", "old", "--fix", corpus="new", status=2)
    assert messages(found, "Q101") == [
        "the corpus has no such module; is it tokens.py now (similarity 0.71)?"
    ]
    assert found["fixed"] == []
    assert Path("q.json").read_text() == dump([query()])


def test_without_the_old_corpus_the_path_proposes(check: Check) -> None:
    write({"core/auth/jwt.py": "x\n", "auth/handlers.py": HANDLERS}, "new")
    found = check([query(provenance=None)], corpus="new", status=2)
    assert "is it core/auth/jwt.py now (similar path)?" in messages(found, "Q101")[0]
    assert found["findings"][0]["fix"] == ""


def test_without_the_old_corpus_the_facts_propose(check: Check) -> None:
    write({"zz.py": JWT, "yy.py": "y = 1\n", "auth/handlers.py": HANDLERS}, "new")
    provenance = {"the signature is an HMAC": ["auth/jwt.py:6-7"]}
    found = check([query(provenance=provenance)], corpus="new", status=2)
    assert "is it zz.py now (its lines bear out the facts)?" in messages(found, "Q101")[0]


def test_nothing_is_proposed_where_nothing_is_alike(check: Check) -> None:
    write({"zz.rb": "x\n", "auth/handlers.py": HANDLERS}, "new")
    found = check([query()], corpus="new", status=2)
    assert messages(found, "Q101") == ["the corpus has no such module"]


def test_a_fix_does_not_overwrite_another_grade(check: Check) -> None:
    write(MODULES, "old")
    write({"src/jwt.py": JWT, "auth/handlers.py": HANDLERS}, "new")
    both = query(relevance_grades={"auth/jwt.py": 3, "src/jwt.py": 1})
    check([both], "--old-corpus", "old", "--fix", corpus="new", status=2)
    assert Path("q.json").read_text() == dump([both])


# --- Provenance, shapes, pool ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provenance", "code"),
    [
        ({"auth/jwt.py": ["auth/gone.py:1-2", "auth/jwt.py:1-2"]}, "Q104"),
        ({"the signature is an HMAC": ["auth/gone.py:1-2", "auth/jwt.py:6-6"]}, "Q102"),
        ({"auth/jwt.py": ["auth/jwt.py:4-8"]}, "Q103"),
        ({"the signature is an HMAC": ["db.py:1-1"], "auth/jwt.py": ["auth/jwt.py:1-2"]}, "Q403"),
    ],
)
def test_provenance_points_where_it_says(
    check: Check, provenance: dict[str, list[str]], code: str
) -> None:
    assert code in codes(check([query(provenance=provenance)]))


def test_provenance_may_end_on_the_last_line(check: Check) -> None:
    assert codes(check([query(provenance={"auth/jwt.py": ["auth/jwt.py:7-7"]})])) == []


def test_a_high_grade_without_lines_is_an_info(check: Check) -> None:
    found = check([query(provenance=None)], "--strict")
    assert codes(found) == ["Q202"]
    assert found["warnings"] == []


@pytest.mark.parametrize(
    ("shape", "grades", "sound"),
    [
        ("focused", [3, 2, 2], True),
        ("focused", [3, 3], False),
        ("focused", [2, 1], False),
        ("cross-file", [3, 2], True),
        ("cross-file", [2, 2], True),
        ("cross-file", [3, 1, 1], False),
        ("identity", [3, 3], True),
        ("identity", [3, 2, 2], True),
        ("identity", [3, 3, 3], False),
        ("identity", [2], False),
    ],
)
def test_grades_fit_the_shape(check: Check, shape: str, grades: list[int], sound: bool) -> None:
    graded = {f"m{i}.py": grade for i, grade in enumerate(grades)}
    found = check([query(shape=shape, relevance_grades=graded, provenance=None)], corpus="")
    assert ("Q201" not in codes(found)) == sound


def test_modules_of_a_run_without_a_grade_are_named(check: Check) -> None:
    Path("run.trec").write_text("sign Q0 db.py 1 2 x\nsign Q0 auth/jwt.py 2 1 x\n")
    assert codes(check([query()])) == []
    found = check([query()], "--run", "run.trec")
    assert messages(found, "Q203") == ["1 modules that came back have no grade: db.py"]


# --- Words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("What does jwt.py do to a session?", "Q301"),
        ("What is in auth/jwt.py?", "Q301"),
        ("Who calls sign_claims?", "Q302"),
        ("Who makes a TokenSigner?", "Q302"),
        ("Who calls TokenSigner.sign_claims and why?", "Q302"),
        ("How does the sign of claims work, and is a token signer needed?", ""),
        ("Is login in handlers.py the way in?", ""),  # of grade 1: no answer
        ("Does my_jwt.py matter, or jwt.pyx?", ""),
        ("Is GitHub or JavaScript to blame, or some_other_name?", ""),
    ],
)
def test_a_question_that_names_its_answer(check: Check, question: str, code: str) -> None:
    assert codes(check([query(question=question)])) == ([code] if code else [])


def test_an_identity_may_name_what_it_asks_about(check: Check) -> None:
    assert codes(check([query(question="What is TokenSigner?", shape="identity")])) == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("async def fetch_all(x):", {"fetch_all"}),
        ("pub(crate) fn parse_args<T>() {", {"parse_args"}),
        ("func (s *Server) ServeHTTP(w W) {", {"ServeHTTP"}),
        ("export default class FooBar extends Baz {", {"FooBar"}),
        ("export const makeThing = () => 1", {"makeThing"}),
        ("MAX_SIZE: int = 3", {"MAX_SIZE"}),
        ("static int parse_header(char *p)", {"parse_header"}),
        ("#define MAX_LEN 3", {"MAX_LEN"}),
        ("    x = call_me(y)", set()),
    ],
)
def test_symbols_of_many_languages(source: str, names: set[str]) -> None:
    assert names <= symbols(source)
    assert "call_me" not in symbols(source)


def test_nearly_equal_questions(check: Check) -> None:
    words = "How does the session cache evict expired entries under memory pressure {}?"
    pair = [
        query(id="a", question=words.format("today")),
        query(id="b", question=words.format("").upper()),
        query(id="c", question="Where are expired sessions listed?"),
    ]
    found = check(pair)
    assert [(one["query"], one["code"]) for one in found["findings"]][:1] == [("b", "Q303")]
    assert messages(found, "Q303") == ["nearly the same as that of 'a'"]


def test_thousands_of_questions_are_compared_in_no_time(check: Check) -> None:
    many = [
        query(id=str(i), question=f"Why does part {i} of zone {i * 7} fail?") for i in range(2000)
    ]
    assert "Q303" not in codes(check(many, corpus=""))


def test_facts_that_nothing_supports(check: Check) -> None:
    facts = ["the signature is an HMAC", "penguins huddle against antarctic winters"]
    found = check([query(gold_facts=facts)])
    assert [one["field"] for one in found["findings"] if one["code"] == "Q401"] == ["gold_facts[1]"]
    # Words in another module, or in other lines than the provenance names, are no support.
    wrong = query(
        gold_facts=["login checks the password of the user", "the signature is an HMAC"],
        provenance={"login checks the password of the user": ["db.py:1-1"]},
    )
    assert "Q401" in codes(check([wrong]))


def test_an_alias_may_bear_a_fact_out(check: Check) -> None:
    odd = "penguins huddle against antarctic winters"
    facts = ["the signature is an HMAC", odd]
    aliased = query(gold_facts=facts, fact_aliases={odd: ["header and payload"]})
    assert codes(check([aliased])) == []


def test_facts_that_n15_never_counts(check: Check) -> None:
    found = check([query(gold_facts=["подпись", "the signature is an HMAC"])])
    assert "Q402" in codes(found)
    alias = {"подпись": ["the signature"]}
    assert "Q402" not in codes(
        check([query(gold_facts=["подпись", "an HMAC signature"], fact_aliases=alias)])
    )


# --- Sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "count"), [(0, 5), (3, 5), (8, 10), (13, 16), (150, 150)])
def test_the_interval_is_wilsons(hits: int, count: int) -> None:
    expected = binomtest(hits, count).proportion_ci(0.95, method="wilson")
    assert wilson(hits / count, count) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_small_set_says_how_wide_its_interval_is(check: Check) -> None:
    few = [query(id=str(i), question=f"Why {i}?") for i in range(16)]
    (text,) = messages(check(few), "Q501")
    assert text.startswith("16 queries: a hit rate of 0.80 has a 95 % interval of .56–.93;")
    many = [query(id=str(i), question=f"Why {i}?") for i in range(70)]
    assert messages(check(many), "Q501") == []


# --- What is shown, and how it ends ---------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = cli.main(["check", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_warnings_end_with_0_and_with_1_when_strict(
    check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    check([query(shape="identity", relevance_grades={"auth/jwt.py": 2})])
    status, _, err = run(capsys, "q.json")
    assert (status, err.count("warning: ")) == (0, 1)
    assert err.endswith(" [Q201]\n")
    assert run(capsys, "q.json", "--strict")[0] == 1
    assert run(capsys, "q.json", "--strict", "--ignore", "Q2")[0] == 0
    assert run(capsys, "q.json", "--strict", "--select", "Q3,Q4")[0] == 0


def test_infos_are_shown_on_demand(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    check([query()])
    assert run(capsys, "q.json") == (0, "q.json: 1 queries, no errors, 0 warnings\n", "")
    assert "info: q.json: queries: 1 queries: a hit rate" in run(capsys, "q.json", "--infos")[2]


@pytest.mark.parametrize("words", ["--select X", "--ignore Q9", "--ignore Q006", "--select ,"])
def test_a_code_that_is_none_is_an_error(check: Check, capsys: Any, words: str) -> None:
    check([query()])
    status, out, err = run(capsys, "q.json", *words.split())
    assert (status, out) == (2, "")
    assert err.startswith("error: ")


def test_a_query_may_allow_a_finding(check: Check) -> None:
    asked = "Who calls sign_claims?"
    assert codes(check([query(question=asked, allow=["Q302"])])) == []
    assert codes(check([query(question=asked, allow=["Q301"])])) == ["Q302"]


def test_an_error_cannot_be_allowed(check: Check) -> None:
    assert codes(check([query(allow=["Q006", "nonsense"])])) == ["Q018", "Q018"]
    wrong = query(relevance_grades={"auth/jwt.py": 9}, allow=["Q006"])
    assert "Q006" in codes(check([wrong], status=2))


def test_several_files_are_checked_at_once(
    check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    check([query()])
    Path("other.json").write_text("[")
    status, out, err = run(capsys, "q.json", "other.json")
    assert (status, out) == (2, "q.json: 1 queries, no errors, 0 warnings\n")
    assert err.startswith("error: other.json: not JSON")


def test_without_files_every_repo_of_the_project_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rankgate.corpus import write_corpus
    from rankgate.sources.local import local_files

    monkeypatch.chdir(tmp_path)
    for name in ("params.yaml", "data"):
        (tmp_path / name).symlink_to(ROOT / name)
    files = local_files(ROOT / "data/sample_project", "x")
    write_corpus(Path("work/corpus/sample_project"), files, source={})
    status, out, err = run(capsys)
    assert status == 0
    assert [line.split(",")[0] for line in out.splitlines()] == [
        "data/queries/sample_project.json: 19 queries",
        "data/queries/requests.json: 16 queries",
    ]
    assert "note: requests: no corpus in work/corpus/requests" in err
    assert run(capsys, "--corpus", "data")[0] == 2


def test_outside_a_project_a_file_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys)
    assert (status, out) == (2, "")
    assert err.startswith("error: no query file named")


# --- Mending --------------------------------------------------------------------------------------


def test_what_is_safe_is_mended_and_said(check: Check) -> None:
    messy = query(
        question=" How do we make sure that nobody forges a session?",
        gold_facts=["the signature is an HMAC ", "it covers header and payload"],
        provenance={
            "auth/jwt.py": ["auth/jwt.py:4-7", "auth/jwt.py:4-7"],
            "the signature is an HMAC ": ["auth/jwt.py:6-7"],
        },
        tags=["why", "how", "why"],
    )
    found = check([messy], "--fix")  # first the error, then what it hid
    assert found["fixed"] == [
        "q.json: query 'sign': tags: dropped 1 that stood there twice",
        "q.json: query 'sign': provenance['auth/jwt.py']: dropped 1 that stood there twice",
        "q.json: query 'sign': question: took the blanks around it away",
        "q.json: query 'sign': gold_facts: took the blanks around 1 away",
    ]
    clean = query(
        provenance={
            "auth/jwt.py": ["auth/jwt.py:4-7"],
            "the signature is an HMAC": ["auth/jwt.py:6-7"],
        },
        tags=["why", "how"],
    )
    assert Path("q.json").read_text() == dump([clean])
    assert codes(found) == []


LAYOUTS: Sequence[Callable[[Any], str]] = [
    lambda value: json.dumps(value, indent=4),
    lambda value: json.dumps(value, indent="\t", ensure_ascii=False) + "\n",
    lambda value: json.dumps(value),
    lambda value: json.dumps(value, separators=(",", ":")) + "\n",
    lambda value: "\ufeff" + dump(value).replace("\n", "\r\n"),
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_mending_keeps_the_layout(check: Check, layout: Callable[[Any], str]) -> None:
    value = {"version": 1, "description": "grün", "queries": [query(tags=["a", "b", "a"])]}
    check(layout(value), "--fix")
    value["queries"] = [query(tags=["a", "b"])]
    assert Path("q.json").read_bytes().decode() == layout(value)


def test_a_layout_of_its_own_is_lost_and_said(check: Check) -> None:
    text = dump([query(tags=["a", "a"])]).replace("  ", " ", 1)
    found = check(text, "--fix")
    assert "written anew" in found["fixed"][-1]
    assert Path("q.json").read_text() == dump([query(tags=["a"])])


def test_a_clean_file_is_not_touched(check: Check) -> None:
    text = dump([query()]).replace("  ", " ")
    assert check(text, "--fix")["fixed"] == []
    assert Path("q.json").read_text() == text


def test_a_file_with_a_key_twice_is_not_mended(check: Check) -> None:
    text = dump([query(tags=["a", "a"])]).replace('"shape"', '"id": "other",\n "shape"')
    found = check(text, "--fix", status=2)
    assert "nothing mended" in found["fixed"][0]
    assert Path("q.json").read_text() == text


def test_only_what_is_selected_is_mended(check: Check) -> None:
    text = dump([query(question=" Why? ")])
    assert check(text, "--fix", "--ignore", "Q017")["fixed"] == []
    assert Path("q.json").read_text() == text
