"""Settings: every field is checked when params.yaml is read, and each error names its path."""

import copy
import datetime
import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from rankgate.config import (
    ArchiveSource,
    Component,
    Floor,
    GitSource,
    LocalSource,
    NpmSource,
    PypiSource,
    Settings,
    Source,
    load_gate,
    load_settings,
    pick,
)
from rankgate.errors import InputError

SHA = "0123456789abcdef" * 4
MISSING = object()


@pytest.fixture
def sound(tmp_path: Path) -> dict[str, Any]:
    """Settings in which nothing is wrong."""
    queries = tmp_path / "queries.json"
    queries.write_text("[]")
    return {
        "k": 5,
        "cutoffs": [1, 5],
        "relevant_grade": 1,
        "seed": 0,
        "repo": {
            "mine": {"source": {"type": "local", "path": "src"}, "queries": str(queries)},
            "requests": {
                "source": {"type": "pypi", "name": "requests", "version": "2.32.3", "sha256": SHA},
                "queries": str(queries),
            },
        },
        "retriever": {"bm25": {"_target_": "pkg.mod.Class", "k1": 1.2, "timeout_s": 3}},
        "judge": {"_target_": "pkg.Judge"},
        "gate": {"floors": {"mrr": {"measure": "mrr", "min": 0.4}}},
    }


def load(tmp_path: Path, settings: object) -> Settings:
    path = tmp_path / "params.yaml"
    path.write_text(
        settings if isinstance(settings, str) else yaml.safe_dump(settings, sort_keys=False)
    )
    return load_settings(path)


def problems(tmp_path: Path, settings: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(tmp_path, settings)
    lines = list(caught.value.problems)
    assert all(line.isprintable() and len(line) < 600 for line in lines)
    return [line.replace(f"{tmp_path}/", "") for line in lines]


def changed(settings: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy with the value at a slash-separated path replaced, or taken away."""
    settings = copy.deepcopy(settings)
    *above, last = path.split("/")
    part = settings
    for key in above:
        part = part.setdefault(key, {})
    if value is MISSING:
        del part[last]
    else:
        part[last] = value
    return settings


# What is read


def test_a_local_source_is_read(tmp_path: Path, sound: dict[str, Any]) -> None:
    assert load(tmp_path, sound).repos["mine"].source == LocalSource("src")


def test_a_pypi_source_is_read(tmp_path: Path, sound: dict[str, Any]) -> None:
    expected = PypiSource("requests", "2.32.3", SHA)
    assert load(tmp_path, sound).repos["requests"].source == expected


COMMIT = "0123456789abcdef0123" * 2
INTEGRITY = "sha512-" + "A" * 86 + "=="


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"type": "pypi", "name": "tomli", "version": "2.2.1", "sha256": SHA, "kind": "sdist"},
            PypiSource("tomli", "2.2.1", SHA, "", "sdist"),
        ),
        (
            {"type": "npm", "name": "@scope/a.b", "version": "1.0.0-rc.1", "integrity": INTEGRITY},
            NpmSource("@scope/a.b", "1.0.0-rc.1", INTEGRITY),
        ),
        (
            {"type": "git", "url": "https://example.org/a.git", "commit": COMMIT.upper()},
            GitSource("https://example.org/a.git", COMMIT),
        ),
        ({"type": "git", "url": "../a b", "commit": "v1.0"}, GitSource("../a b", "v1.0")),
        ({"type": "git", "url": "git@host:a/b", "commit": SHA}, GitSource("git@host:a/b", SHA)),
        (
            {"type": "git", "url": "ssh://git@host/a", "commit": COMMIT},
            GitSource("ssh://git@host/a", COMMIT),
        ),
        ({"type": "archive", "url": "a.zip", "sha256": SHA}, ArchiveSource("a.zip", SHA)),
        (
            {"type": "archive", "url": "http://localhost:8000/a.tgz", "sha256": SHA},
            ArchiveSource("http://localhost:8000/a.tgz", SHA),
        ),
    ],
)
def test_every_kind_of_source_is_read(
    tmp_path: Path, sound: dict[str, Any], source: dict[str, str], expected: Source
) -> None:
    assert load(tmp_path, changed(sound, "repo/mine/source", source)).repos["mine"].source == (
        expected
    )


URLS = {"git": {"commit": COMMIT}, "archive": {"sha256": SHA}}


@pytest.mark.parametrize("kind", URLS)
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("--upload-pack=touch x", "not usable"),
        ("ext::sh -c 'touch x'", "not usable"),
        ("a\nb", "not usable"),
        ("http://example.org/a", "expected https://"),
        ("ftp://example.org/a", "expected https://"),
        ("file:///etc/a", "expected https://"),
        ("http://127.0.0.1.example.org/a", "expected https://"),
        ("https://user:secret@example.org/a", "holds a user or password"),
    ],
)
def test_a_url_that_is_not_safe_is_refused(
    tmp_path: Path, sound: dict[str, Any], kind: str, url: str, why: str
) -> None:
    source = {"type": kind, "url": url, **URLS[kind]}
    (line,) = problems(tmp_path, changed(sound, "repo/mine/source", source))
    assert line.startswith(f"repo.mine.source.url: {why}")


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({"type": "git", "url": "a", "commit": "--output=x"}, "commit"),
        ({"type": "git", "url": "a", "commit": "a b"}, "commit"),
        ({"type": "git", "url": "a"}, "commit"),
        ({"type": "npm", "name": "-x", "version": "1.0.0", "integrity": INTEGRITY}, "name"),
        ({"type": "npm", "name": "../x", "version": "1.0.0", "integrity": INTEGRITY}, "name"),
        ({"type": "npm", "name": "a/b", "version": "1.0.0", "integrity": INTEGRITY}, "name"),
        ({"type": "npm", "name": "a", "version": "latest", "integrity": INTEGRITY}, "version"),
        ({"type": "npm", "name": "a", "version": "^1.0.0", "integrity": INTEGRITY}, "version"),
        ({"type": "npm", "name": "a", "version": "1.0.0", "integrity": "sha1-ab"}, "integrity"),
        ({"type": "archive", "url": "a.zip", "sha256": "ab"}, "sha256"),
        ({"type": "archive", "url": "a.zip", "sha256": SHA, "name": "a"}, "name"),
        (
            {"type": "pypi", "name": "a", "version": "1", "sha256": SHA, "kind": "egg"},
            "kind",
        ),
        (
            {
                "type": "pypi",
                "name": "a",
                "version": "1",
                "sha256": SHA,
                "kind": "sdist",
                "tag": "cp311-cp311-any",
            },
            "tag",
        ),
    ],
)
def test_a_wrong_source_is_named_with_its_field(
    tmp_path: Path, sound: dict[str, Any], source: dict[str, str], field: str
) -> None:
    (line,) = problems(tmp_path, changed(sound, "repo/mine/source", source))
    assert line.startswith(f"repo.mine.source.{field}: ")


@pytest.mark.parametrize("key", ["tests", "generated"])
def test_tests_and_generated_files_are_out_unless_asked_for(
    tmp_path: Path, sound: dict[str, Any], key: str
) -> None:
    assert getattr(load(tmp_path, sound).repos["mine"], key) is False
    settings = load(tmp_path, changed(sound, f"repo/mine/{key}", value=True))
    assert getattr(settings.repos["mine"], key) is True
    (line,) = problems(tmp_path, changed(sound, f"repo/mine/{key}", "no"))
    assert line == f"repo.mine.{key}: expected true or false, got 'no'"


def test_a_sha256_may_be_in_capitals(tmp_path: Path, sound: dict[str, Any]) -> None:
    settings = load(tmp_path, changed(sound, "repo/requests/source/sha256", SHA.upper()))
    assert settings.repos["requests"].source == PypiSource("requests", "2.32.3", SHA)


def test_what_is_left_out_has_its_default(tmp_path: Path, sound: dict[str, Any]) -> None:
    for key in ("k", "cutoffs", "relevant_grade", "seed"):
        del sound[key]
    settings = load(tmp_path, sound)
    assert (settings.k, settings.cutoffs, settings.relevant_grade) == (5, (1, 3, 5), 1)
    repo = settings.repos["mine"]
    assert (repo.root, repo.include, repo.exclude, repo.ungraded) == ("", ("*",), (), "zero")


def test_a_retrievers_other_keys_are_its_options(tmp_path: Path, sound: dict[str, Any]) -> None:
    retriever = load(tmp_path, sound).retrievers["bm25"]
    assert retriever.component == Component("pkg.mod.Class", {"k1": 1.2})
    assert (retriever.timeout_s, retriever.max_failures) == (3.0, 0)


def test_cutoffs_are_sorted_and_once_each(tmp_path: Path, sound: dict[str, Any]) -> None:
    assert load(tmp_path, changed(sound, "cutoffs", [5, 1, 5])).cutoffs == (1, 5)


def test_the_keys_that_hydra_derives_are_no_settings(tmp_path: Path, sound: dict[str, Any]) -> None:
    derived = {"repos": ["mine"], "retrievers": ["bm25"], "fixtures": {"mine": {}}}
    assert load(tmp_path, sound | derived).k == 5


def test_the_projects_own_settings_are_sound() -> None:
    root = Path(__file__).parent.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert load_settings().k >= 1


# One wrong field


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("kk", 1, "kk: unknown key (known: cutoffs, fixtures, gate, judge, k, "
                  "relevant_grade, repo, repos, retriever, retrievers, seed)"),
        ("k", 0, "k: expected an integer 1..1000000, got 0"),
        ("k", "5", "k: expected an integer 1..1000000, got '5'"),
        ("k", 5.0, "k: expected an integer 1..1000000, got 5.0"),
        ("k", True, "k: expected an integer 1..1000000, got True"),
        ("cutoffs", 5, "cutoffs: expected a list of integers, got 5"),
        ("cutoffs", [], "cutoffs: expected a list of integers, got []"),
        ("cutoffs", [0], "cutoffs: expected integers from 1 up, got [0]"),
        ("cutoffs", [True], "cutoffs: expected integers from 1 up, got [True]"),
        ("cutoffs", [1, 9], "cutoffs: 9 is above k, which is 5; raise k or drop it"),
        ("relevant_grade", 4, "relevant_grade: expected an integer 1..3, got 4"),
        ("seed", -1, "seed: expected an integer 0..1000000, got -1"),
        ("repo", {}, "repo: is empty; pick at least one"),
        ("repo", MISSING, "repo: is empty; pick at least one"),
        ("repo", ["mine"], "repo: expected keys and values, got ['mine']"),
        ("retriever", {}, "retriever: is empty; pick at least one"),
        ("repo/mine/queries", MISSING, "repo.mine.queries: is missing"),
        ("repo/mine/queries", "", "repo.mine.queries: is empty"),
        ("repo/mine/queries", ".", "repo.mine.queries: no such file: ."),
        ("repo/mine/queries", "no.json", "repo.mine.queries: no such file: no.json"),
        ("repo/mine/queries", "a\0\nb", "repo.mine.queries: no such file: a b"),
        ("repo/mine/typo", 1, "repo.mine.typo: unknown key (known: exclude, generated, include, "
                              "queries, root, source, tests, ungraded)"),
        ("repo/mine/ungraded", "none",
         "repo.mine.ungraded: expected one of error, zero, skip, got 'none'"),
        ("repo/mine/include", "*.py", "repo.mine.include: expected a list of strings, got '*.py'"),
        ("repo/mine/exclude", [1], "repo.mine.exclude: expected a list of strings, got [1]"),
        ("repo/mine/include", ["!"], "repo.mine.include: '!' is no pattern of .gitignore"),
        ("repo/mine/exclude", ["[z-a]"], "repo.mine.exclude: '[z-a]' is no pattern of .gitignore"),
        ("repo/mine/root", "/etc", "repo.mine.root: expected a folder inside the source, "
                                   "got '/etc'"),
        ("repo/mine/root", "../x", "repo.mine.root: expected a folder inside the source, "
                                   "got '../x'"),
        ("repo/mine/source", MISSING,
         "repo.mine.source.type: is missing; expected one of local, pypi, npm, git, archive"),
        ("repo/mine/source/type", "ftp",
         "repo.mine.source.type: expected one of local, pypi, npm, git, archive, got 'ftp'"),
        ("repo/mine/source/path", "", "repo.mine.source.path: is empty"),
        ("repo/mine/source/path", MISSING, "repo.mine.source.path: is missing"),
        ("repo/mine/source/sha256", SHA,
         "repo.mine.source.sha256: unknown key (known: path, type)"),
        ("repo/requests/source/sha256", "abc",
         "repo.requests.source.sha256: expected 64 hex digits, got 'abc'"),
        ("repo/requests/source/sha256", "", "repo.requests.source.sha256: is empty"),
        ("repo/requests/source/sha256", MISSING, "repo.requests.source.sha256: is missing"),
        ("repo/requests/source/version", 2.32,
         "repo.requests.source.version: expected a string, got 2.32; put it in quotes"),
        ("repo/requests/source/version", "1 --pre",
         "repo.requests.source.version: not usable: '1 --pre'"),
        ("repo/requests/source/name", "-r x", "repo.requests.source.name: not usable: '-r x'"),
        ("retriever/bm25/_target_", MISSING, "retriever.bm25._target_: is missing"),
        ("retriever/bm25/_target_", "", "retriever.bm25._target_: is empty"),
        ("retriever/bm25/_target_", "print('x')",
         'retriever.bm25._target_: expected package.module.Class, got "print(\'x\')"'),
        ("retriever/bm25/timeout_s", 0,
         "retriever.bm25.timeout_s: expected seconds above 0 and up to 1000000, got 0"),
        ("retriever/bm25/timeout_s", 1e300,
         "retriever.bm25.timeout_s: expected seconds above 0 and up to 1000000, got 1e+300"),
        ("retriever/bm25/timeout_s", "1e3",
         "retriever.bm25.timeout_s: expected a number, got '1e3'"),
        ("retriever/bm25/timeout_s", math.inf,
         "retriever.bm25.timeout_s: expected a finite number, got inf"),
        ("retriever/bm25/max_failures", -1,
         "retriever.bm25.max_failures: expected an integer 0..1000000, got -1"),
        ("judge", "n15", "judge: expected keys and values, got 'n15'"),
        ("gate/floors", {}, "gate.floors: is empty; a gate needs at least one floor"),
        ("gate/floors/mrr", None, "gate.floors: is empty; a gate needs at least one floor"),
        ("gate/typo", 1, "gate.typo: unknown key (known: compare, floors, repos, retrievers)"),
        ("gate/floors/mrr/minimum", 1, "gate.floors.mrr.minimum: unknown key "
                                       "(known: above, max, measure, min)"),
        ("gate/floors/mrr/measure", MISSING, "gate.floors.mrr.measure: is missing"),
        ("gate/floors/mrr/min", MISSING,
         "gate.floors.mrr.min: give one of min, max, above; got none"),
        ("gate/floors/mrr/max", 0.9,
         "gate.floors.mrr.min: give one of min, max, above; got min and max"),
        ("gate/floors/mrr/min", math.nan, "gate.floors.mrr.min: expected a finite number, got nan"),
        ("gate/floors/mrr/min", "0.4", "gate.floors.mrr.min: expected a number, got '0.4'"),
        ("gate/floors/mrr/min", True, "gate.floors.mrr.min: expected a number, got True"),
        ("gate/floors/mrr/min", 10**400, "gate.floors.mrr.min: expected a finite number, got "
                                         "100000000000000000...0000000000000000000"),
        ("gate/repos", [], "gate.repos: expected keys and values, got []"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_with_its_path(
    tmp_path: Path, sound: dict[str, Any], path: str, value: object, message: str
) -> None:
    assert message in problems(tmp_path, changed(sound, path, value))


@pytest.mark.parametrize(
    "path",
    ["repo/mine/source/type", "retriever/bm25/timeout_s", "k", "gate/floors/mrr/min"],
)
def test_a_wrong_field_is_one_problem_only(
    tmp_path: Path, sound: dict[str, Any], path: str
) -> None:
    assert len(problems(tmp_path, changed(sound, path, "nonsense"))) == 1


@pytest.mark.parametrize("measure", ["recall_at_3", "MRR", "shape.focused.map", "query.*.queries"])
def test_a_gate_on_a_measure_that_is_not_computed_says_what_there_is(
    tmp_path: Path, sound: dict[str, Any], measure: str
) -> None:
    (line,) = problems(tmp_path, changed(sound, "gate/floors/mrr/measure", measure))
    assert line.startswith(f"gate.floors.mrr.measure: {measure!r} is not computed; there is ")
    for there in ("recall_at_1", "recall_at_5", "mrr", "ndcg_at_5", "faithfulness"):
        assert there in line


@pytest.mark.parametrize(
    "measure", ["recall_at_5", "shape.focused.mrr", "shape.*.hit_rate", "query.*.ndcg_at_1"]
)
def test_a_gate_may_bound_what_is_computed(
    tmp_path: Path, sound: dict[str, Any], measure: str
) -> None:
    settings = load(tmp_path, changed(sound, "gate/floors/mrr/measure", measure))
    assert settings.gate.of("mine")[0].measure == measure


@pytest.mark.parametrize("group", ["repo", "retriever"])
@pytest.mark.parametrize(
    "name", ["../x", "a/b", "..", ".", "", "a\\b", "a b", "-a", "a--b", "a.b", "a\nb", "ä"]
)
def test_a_name_that_is_no_plain_folder_is_refused(
    tmp_path: Path, sound: dict[str, Any], group: str, name: str
) -> None:
    entry = next(iter(sound[group].values()))
    lines = problems(tmp_path, changed(sound, group, {name: entry}))
    assert len(lines) == 1
    assert lines[0].endswith("a name has letters, digits, '_' and single '-'")


def test_cells_that_dvc_would_give_one_name_are_refused(
    tmp_path: Path, sound: dict[str, Any]
) -> None:
    # DVC joins the names of a matrix with '-': both would be index@a-b-c, and one is dropped.
    repo, retriever = sound["repo"]["mine"], sound["retriever"]["bm25"]
    sound["repo"] = {"a": repo, "a-b": repo}
    sound["retriever"] = {"c": retriever, "b-c": retriever}
    assert problems(tmp_path, sound) == [
        "repo.a-b: with retriever.c it has the stage name of repo.a with retriever.b-c; rename one"
    ]


@pytest.mark.parametrize(
    "value",
    [datetime.date(2026, 1, 2), math.nan, math.inf, b"bytes", {"a"}, {"deep": [{"er": math.nan}]}],
)
def test_an_option_that_no_result_could_hold_is_refused(
    tmp_path: Path, sound: dict[str, Any], value: object
) -> None:
    assert problems(tmp_path, changed(sound, "retriever/bm25/opt", value)) == [
        "retriever.bm25.opt: expected text, finite numbers, true, false, lists, keys and values"
    ]


def test_options_may_be_nested(tmp_path: Path, sound: dict[str, Any]) -> None:
    option = {"weights": [0.5, {"of": "title", "on": True, "off": None}]}
    settings = load(tmp_path, changed(sound, "retriever/bm25/opt", option))
    assert settings.retrievers["bm25"].component.options["opt"] == option


# Whole files


def test_all_problems_are_listed_at_once(tmp_path: Path, sound: dict[str, Any]) -> None:
    for path, value in {
        "k": "many",
        "repo/requests/source/sha256": "abc",
        "retriever/bm25/_target_": MISSING,
        "gate/floors/mrr/min": math.nan,
        "typo": 1,
    }.items():
        sound = changed(sound, path, value)
    assert [line.split(": ")[0] for line in problems(tmp_path, sound)] == [
        "k",
        "repo.requests.source.sha256",
        "retriever.bm25._target_",
        "gate.floors.mrr.min",
        "typo",
    ]


def test_a_missing_params_yaml_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"params\.yaml: no such file$"):
        load_settings(tmp_path / "params.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected keys and values, got None"),
        ("- a", "expected keys and values, got ['a']"),
        ("text", "expected keys and values, got 'text'"),
        ("k: [1,", "not YAML: while parsing a flow node"),
        ("\tk: 1", "not YAML: while scanning for the next token"),
        ("k: 1\n---\nk: 2", "not YAML: expected a single document"),
        ("k: \x01", "not YAML: unacceptable character #x0001"),
        ("? [k]\n: 1", "line 1: a key must be a plain value"),
        ("k: *nowhere", "not YAML: found undefined alias"),
        ("k: !!python/object/apply:os.system ['exit 1']", "not YAML: could not determine a cons"),
        ("!!python/name:os.system k: 1", "not YAML: could not determine a constructor"),
        ("k: " + "[" * 100_000, "not "),
        ("k: 2020-13-45", "not usable YAML: month must be in 1..12"),
        ("k: !!bool x", "not usable YAML: 'x'"),
        ("k: !!timestamp x", "not usable YAML: 'NoneType' object has no attribute"),
        ("k: " + "9" * 5000, "not usable YAML: Exceeds the limit (4300 digits)"),
        ("k: 5\nseed: 1\nk: 6", "line 3: k: key given twice"),
        ("gate: {floors: {\n a: {min: 1},\n a: {min: 2}}}", "line 3: a: key given twice"),
        ("a: &a {x: 1}\nb: {<<: *a}", "line 2: <<: merge keys are not read; write the keys out"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_mapping_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (line,) = problems(tmp_path, text)
    assert line.startswith(f"params.yaml: {message}")


def test_an_unsafe_tag_runs_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    problems(tmp_path, f"k: !!python/object/apply:pathlib.Path.mkdir [{made}]")
    assert not made.exists()


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level + 1}: &a{level + 1} [{', '.join([f'*a{level}'] * 9)}]\n" for level in range(20)
)


@pytest.mark.parametrize(
    "use",
    ["k: *a20", "cutoffs: *a20", "gate: *a20", "repo: {x: {include: *a20}}", "? *a20\n: 1"],
)
def test_a_yaml_bomb_is_refused_at_once(tmp_path: Path, use: str) -> None:
    assert problems(tmp_path, BOMB + use)


@pytest.mark.parametrize("option", ["*a20", "{deep: *a20}"])
def test_a_yaml_bomb_as_an_option_is_refused_at_once(tmp_path: Path, option: str) -> None:
    text = f"{BOMB}retriever: {{bm25: {{_target_: a.B, opt: {option}}}}}"
    assert any(line.startswith("retriever.bm25.opt: ") for line in problems(tmp_path, text))


def test_a_value_that_contains_itself_is_refused(tmp_path: Path) -> None:
    text = "retriever: {bm25: {_target_: a.B, opt: &self [*self]}}"
    assert any(line.startswith("retriever.bm25.opt: ") for line in problems(tmp_path, text))


def test_a_number_of_thousands_of_digits_is_named(tmp_path: Path) -> None:
    lines = problems(tmp_path, f"k: 0x{'f' * 5000}")
    assert "k: expected an integer 1..1000000, got a number of thousands of digits" in lines


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(InputError, match=r"^repo: no 'c'; there is a, b$"):
        pick({"a": 1, "b": 2}, "repo", "c")


# Floors


def test_a_repos_own_floor_replaces_the_one_of_its_name(
    tmp_path: Path, sound: dict[str, Any]
) -> None:
    sound["gate"]["floors"]["hits"] = {"measure": "hit_rate", "min": 0.8}
    sound["gate"]["repos"] = {"mine": {"mrr": {"measure": "mrr", "above": 0.9}}}
    gate = load(tmp_path, sound).gate
    hits = Floor("hits", "hit_rate", "min", 0.8)
    assert gate.of("mine") == (Floor("mrr", "mrr", "above", 0.9), hits)
    assert gate.of("requests") == (Floor("mrr", "mrr", "min", 0.4), hits)


def test_a_repo_may_have_a_floor_more(tmp_path: Path, sound: dict[str, Any]) -> None:
    sound["gate"]["repos"] = {"mine": {"hits": {"measure": "hit_rate", "min": 0.8}}}
    gate = load(tmp_path, sound).gate
    assert [floor.name for floor in gate.of("mine")] == ["mrr", "hits"]
    assert [floor.name for floor in gate.of("requests")] == ["mrr"]


def test_null_takes_a_floor_away_from_every_repo(tmp_path: Path, sound: dict[str, Any]) -> None:
    sound["gate"]["floors"]["hits"] = None
    assert [floor.name for floor in load(tmp_path, sound).gate.of("mine")] == ["mrr"]


def test_null_takes_a_floor_away_from_one_repo(tmp_path: Path, sound: dict[str, Any]) -> None:
    sound["gate"]["repos"] = {"mine": {"mrr": None}}
    gate = load(tmp_path, sound).gate
    assert gate.of("mine") == ()
    assert [floor.name for floor in gate.of("requests")] == ["mrr"]


@pytest.mark.parametrize("part", ["floors", "repos/mine"])
def test_a_wrong_floor_of_a_repo_is_named(tmp_path: Path, sound: dict[str, Any], part: str) -> None:
    settings = changed(sound, f"gate/{part}/own", {"measure": "mrr", "min": "high"})
    field = f"gate.{part.replace('/', '.')}.own.min"
    assert problems(tmp_path, settings) == [f"{field}: expected a number, got 'high'"]


# Gate files


def write_gate(folder: Path, name: str, content: object) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(content))
    return path


def test_a_gate_file_is_read_alone(tmp_path: Path) -> None:
    path = write_gate(tmp_path, "own", {"floors": {"mrr": {"measure": "mrr", "min": 0.5}}})
    assert load_gate(path, [5]).of("any") == (Floor("mrr", "mrr", "min", 0.5),)


@pytest.mark.parametrize("name", ["conservative", "strict"])
def test_the_projects_gate_files_are_sound(name: str) -> None:
    path = Path(__file__).parent.parent / f"conf/gate/{name}.yaml"
    assert len(load_gate(path, [1, 3, 5]).of("any")) >= 8


def test_errors_of_a_gate_file_name_the_file(tmp_path: Path) -> None:
    path = write_gate(tmp_path, "gate", {"floors": {"mrr": {"measure": "recall_at_7", "min": 1}}})
    with pytest.raises(InputError) as caught:
        load_gate(path, [5])
    (line,) = caught.value.problems
    assert line.startswith(f"{path}: floors.mrr.measure: 'recall_at_7' is not computed; there is ")
