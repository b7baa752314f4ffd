"""The words of code and questions, and where modules are cut; values worked out by hand."""

import time

import pytest

from rankgate.retrievers.chunks import Chunk, cut
from rankgate.retrievers.code_text import question_terms, terms
from rankgate.retrievers.vocabulary import RELATED, SAME, STOP_WORDS


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("token", ["token"]),
        ("user_token", ["user", "token", "usertoken"]),
        ("userToken", ["user", "token", "usertoken"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("sha256", ["sha", "256", "sha256"]),
        ("__iter__", ["iter"]),
        ("x", []),
        ("Größe", ["größe"]),
    ],
)
def test_identifier_is_split_and_kept_whole(identifier: str, expected: list[str]) -> None:
    assert terms(identifier) == expected


def test_inflected_words_share_a_stem() -> None:
    assert terms("redirects redirected redirecting") == ["redirect"] * 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cfg", "configuration"),
        ("db", "database"),
        ("authenticate", "auth"),
        ("params", "parameters"),
        ("errors", "err"),
        ("colour", "colors"),
        ("written", "write"),
        ("directories", "dir"),
    ],
)
def test_abbreviations_spellings_and_irregular_forms_are_one_term(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def test_snake_and_camel_case_meet() -> None:
    assert terms("parse_http_headers") == terms("parseHTTPHeaders")


def test_letters_of_any_composition_meet() -> None:
    assert terms("cafe\u0301") == terms("caf\u00e9")


def test_unspaced_script_is_found_by_pairs_of_characters() -> None:
    assert {"数据", "据库"} <= set(terms("数据库"))


def test_data_without_words_gives_no_terms() -> None:
    assert terms("A" * 65) == []


def test_stop_words_do_not_vote() -> None:
    assert question_terms("How does the socket work?", 0) == [{"socket": 1.0}]


def test_question_of_stop_words_only_falls_back_to_them() -> None:
    assert [list(wanted) for wanted in question_terms("how is it", 0)] == [["how"], ["is"], ["it"]]


@pytest.mark.parametrize("question", ["", "   ", "🙂🙃 🎉", "?!"])
def test_question_without_words_asks_for_nothing(question: str) -> None:
    assert question_terms(question, 0.5) == []


def test_repeated_word_weighs_the_root_of_its_count() -> None:
    assert question_terms("socket, socket! Socket? socket", 0) == [{"socket": 2.0}]


def test_two_adjacent_words_also_count_as_one() -> None:
    assert {"logfil": 0.5} in question_terms("log file", 0.5)


def test_phrase_with_a_stop_word_becomes_the_word_it_spells() -> None:
    wanted = question_terms("log in", 0.5)
    assert any("login" in alternatives for alternatives in wanted)


def test_related_words_will_do_for_less() -> None:
    (wanted,) = question_terms("folder", 0.5)
    assert wanted == {"folder": 1.0, "directori": 0.5}


def test_underscores_alone_are_no_words() -> None:
    assert question_terms("__ ___ __", 0.5) == []


def test_related_word_that_is_asked_for_itself_counts_once() -> None:
    wanted = question_terms("folder directory", 0.5)
    assert {"folder": 1.0} in wanted


def test_words_of_the_tables_are_plain_lower_case_words() -> None:
    for word in [*STOP_WORDS, *(word for group in SAME + RELATED for word in group)]:
        assert word.isalpha()
        assert word == word.lower()


def test_no_word_abbreviates_two_others() -> None:
    words = [word for group in SAME for word in group]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "Ab" * 500_000,
        "a_" * 500_000,
        "a b" * 300_000,
        "é" * 1_000_000,
        "f(" * 500_000,
    ],
    ids=["letters", "camel", "snake", "words", "accents", "calls"],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    begin = time.perf_counter()
    terms(text)
    question_terms(text[:100_000], 0.5)
    cut([text], 50, 10)
    assert time.perf_counter() - begin < 5


def test_text_without_definitions_is_cut_by_length_with_overlap() -> None:
    assert cut(["line"] * 10, 4, 1) == [
        Chunk(1, 4, ()),
        Chunk(4, 7, ()),
        Chunk(7, 10, ()),
    ]


def test_empty_module_is_one_chunk() -> None:
    assert cut([""], 50, 10) == [Chunk(1, 1, ())]


def test_definition_begins_a_chunk_together_with_what_leads_to_it() -> None:
    lines = ["import a", "x = 1", "", "# The answer.", "@cache", "def answer():", "    return 42"]
    assert cut(lines, 8, 0) == [Chunk(1, 3, ()), Chunk(4, 7, ())]


def test_short_definitions_stay_together() -> None:
    assert cut(["def a(): pass", "def b(): pass"], 50, 0) == [Chunk(1, 2, ())]


def test_chunk_knows_the_definitions_around_it() -> None:
    lines = ["class Session:", "    a = 1", "    b = 2", "    def send(self):", "        pass"]
    assert cut(lines, 8, 0) == [Chunk(1, 3, ()), Chunk(4, 5, ("Session",))]


def test_definition_ends_where_the_indentation_does() -> None:
    lines = ["class A:", "    a = 1", "", "b = 2", "def c():", "    pass"]
    assert cut(lines, 8, 0)[-1] == Chunk(5, 6, ())


@pytest.mark.parametrize(
    "definition",
    [
        "    async def fetch(self):",
        "export default async function fetch(url) {",
        "pub(crate) unsafe fn fetch<T>(url: T) -> T {",
        "func (c *Client) fetch(url string) error {",
        "static int fetch(const char *url)",
        "    public Response fetch(String url) {",
        "  fetch(url) {",
        "interface fetch {",
    ],
)
def test_definitions_of_many_languages_are_seen(definition: str) -> None:
    assert len(cut(["a", "b", definition, "c"], 8, 0)) == 2


@pytest.mark.parametrize(
    "line",
    [
        "    if (ready) {",
        "for (;;) {",
        "print(value)",
        "    return fetch(url)",
        "x = fetch(url)",
        "fetch(url);",
        "classes = 3",
    ],
)
def test_other_lines_are_no_definitions(line: str) -> None:
    assert len(cut(["a", "b", line, "c"], 8, 0)) == 1


@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (2, 1), (5, 0), (5, 4), (50, 10), (50, 49)])
def test_chunks_cover_every_line_and_none_is_too_long(size: int, overlap: int) -> None:
    lines = ["# note" if i % 3 else f"def f{i}():" for i in range(200)]
    chunks = cut(lines, size, overlap)
    assert {n for c in chunks for n in range(c.first, c.last + 1)} == set(range(1, 201))
    assert max(c.last - c.first + 1 for c in chunks) <= size
