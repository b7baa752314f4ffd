"""The judge n15 on cases worked by hand from its definition, known mistakes included."""

import re
from random import Random

import pytest

from rankgate.answers import Hit
from rankgate.errors import InputError
from rankgate.judges import Evidence, Judgement, judge_named
from rankgate.judges.n15 import N15

CUES = re.findall(
    r"\S+",
    "no not never don't doesn't didn't isn't aren't wasn't weren't cannot can't won't without "
    "false incorrect invalid unable",
)


def judge(
    facts: list[str],
    context: str,
    aliases: dict[str, list[str]] | None = None,
    hits: tuple[Hit, ...] = (),
) -> Judgement:
    return N15().judge("a question", facts, aliases or {}, context, hits)


def recall(facts: list[str], context: str, aliases: dict[str, list[str]] | None = None) -> float:
    return judge(facts, context, aliases).fact_recall


def contradiction(facts: list[str], context: str) -> float:
    return judge(facts, context).contradiction


# --- Fact recall ------------------------------------------------------------------------------


def test_a_fact_whose_words_all_occur_is_recalled() -> None:
    assert recall(["decode_token checks expiry"], "def decode_token: # checks the expiry") == 1.0


def test_a_fact_of_which_one_word_is_absent_is_not_recalled() -> None:
    assert recall(["decode_token checks expiry"], "def decode_token: # checks the age") == 0.0


def test_recall_is_the_share_of_the_facts() -> None:
    assert recall(["alpha", "beta", "gamma"], "gamma alpha") == pytest.approx(2 / 3)


def test_upper_and_lower_case_are_one() -> None:
    assert recall(["HMAC-SHA256"], "hmac, then Sha256") == 1.0


def test_an_identifier_is_split_at_its_underscore() -> None:
    assert recall(["decode_token"], "token to decode") == 1.0


def test_a_word_inside_another_counts() -> None:
    assert recall(["art"], "start") == 1.0


def test_words_spread_over_unrelated_functions_count() -> None:
    context = "def login(): check(password)\n\ndef invoice(): return expiry\n\ndef token(): ..."
    assert recall(["check token expiry"], context) == 1.0


def test_a_fact_of_one_character_does_not_count() -> None:
    assert recall(["x", "ab"], "ab") == 1.0


def test_a_fact_of_one_character_between_spaces_does_not_count() -> None:
    assert recall(["  x  ", "ab"], "ab") == 1.0


def test_a_fact_of_two_characters_counts() -> None:
    assert recall(["xy", "ab"], "ab") == 0.5


@pytest.mark.parametrize("fact", ["検証する", "→ !!", "éà"])
def test_a_fact_without_a_latin_letter_or_digit_counts_and_is_never_recalled(fact: str) -> None:
    assert recall([fact, "ab"], f"ab {fact}") == 0.5


def test_a_letter_with_an_accent_ends_a_word() -> None:
    # "café" is the token "caf", which is in "cafeteria".
    assert recall(["café"], "cafeteria") == 1.0


def test_an_alias_will_do() -> None:
    assert recall(["login fails"], "sign-in error", {"login fails": ["sign in error"]}) == 1.0


def test_an_alias_stands_for_its_own_fact_only() -> None:
    aliases = {"login fails": ["sign in error"]}
    assert recall(["login fails", "logout works"], "sign-in error", aliases) == 0.5


def test_words_of_a_fact_and_of_its_alias_do_not_add_up() -> None:
    assert recall(["login fails"], "login error", {"login fails": ["sign in error"]}) == 0.0


def test_an_alias_without_a_token_is_in_no_context() -> None:
    assert recall(["login fails"], "anything", {"login fails": ["—"]}) == 0.0


# --- Contradiction: flips ---------------------------------------------------------------------


def test_a_negation_cue_before_a_word_flips_the_fact() -> None:
    assert contradiction(["token verified"], "the token is not verified") == 0.5


@pytest.mark.parametrize("cue", CUES)
def test_each_cue_flips(cue: str) -> None:
    assert contradiction(["expired"], f"{cue} expired") == 0.5


@pytest.mark.parametrize("word", ["nothing", "not,", "(not", "don’t", "dont", "non", "isnt"])
def test_what_is_not_exactly_a_cue_flips_nothing(word: str) -> None:
    assert contradiction(["expired"], f"{word} expired") == 0.0


def test_a_cue_in_capitals_flips() -> None:
    assert contradiction(["expired"], "NOT expired") == 0.5


def test_a_cue_after_the_word_flips_nothing() -> None:
    assert contradiction(["expired"], "expired not") == 0.0


def test_a_cue_that_begins_20_characters_before_flips() -> None:
    assert contradiction(["token"], "no" + 18 * " " + "token") == 0.5


def test_a_cue_that_begins_21_characters_before_flips_nothing() -> None:
    assert contradiction(["token"], "no" + 19 * " " + "token") == 0.0


def test_a_word_cut_at_the_edge_to_a_cue_flips() -> None:
    # The 20 characters before "token" begin inside "piano".
    assert contradiction(["token"], "piano" + 18 * " " + "token") == 0.5


def test_a_cue_cut_at_the_edge_flips_nothing() -> None:
    # The 20 characters before "token" begin inside "cannot", after the "cann".
    assert contradiction(["token"], "cannot" + 18 * " " + "token") == 0.0


def test_a_cue_third_from_the_word_flips() -> None:
    assert contradiction(["token"], "not a b token") == 0.5


def test_a_cue_fourth_from_the_word_flips_nothing() -> None:
    assert contradiction(["token"], "not a b c token") == 0.0


def test_the_piece_of_a_word_before_the_fact_counts_as_a_word() -> None:
    # "art" is found in "start": before it stand "not", "a", "b" and the piece "st".
    assert contradiction(["art"], "not a b start") == 0.0
    assert contradiction(["art"], "not a start") == 0.5


def test_only_the_first_place_of_a_word_is_looked_at() -> None:
    assert contradiction(["token verified"], "token verified, or not token verified") == 0.0


def test_one_negated_word_of_a_fact_is_enough() -> None:
    assert contradiction(["token verified"], "verified later; there is no token") == 0.5


def test_a_fact_of_which_a_word_is_absent_is_not_flipped() -> None:
    assert contradiction(["token verified"], "there is no token") == 0.0


def test_a_flip_looks_at_the_fact_and_not_at_its_aliases() -> None:
    found = judge(["login fails"], "no sign in error", {"login fails": ["sign in error"]})
    assert found.fact_recall == 1.0
    assert found.contradiction == 0.0


# --- Contradiction: choices -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fact", "context"),
    [
        ("sqlite", "postgresql"),
        ("postgresql", "sqlite"),
        ("sqlite", "postgres"),
        ("postgres", "sqlite"),
        ("sqlite", "mysql"),
        ("mysql", "sqlite"),
        ("stripe", "paypal"),
        ("paypal", "stripe"),
        ("jwt", "oauth"),
        ("oauth", "jwt"),
        ("hs256", "rs256"),
        ("rs256", "hs256"),
        ("async", "sync"),
    ],
)
def test_the_other_side_of_a_pair_contradicts(fact: str, context: str) -> None:
    assert contradiction([f"uses {fact}"], f"it is {context}") == 0.5


def test_sync_is_inside_async_so_that_async_does_not_contradict_it() -> None:
    assert contradiction(["sync client"], "an async client") == 0.0


def test_a_pair_with_a_hyphen_never_contradicts_for_no_token_has_one() -> None:
    assert contradiction(["soft-delete of users"], "hard-delete") == 0.0
    assert contradiction(["hard-delete of users"], "soft-delete") == 0.0


def test_a_context_with_both_sides_does_not_contradict() -> None:
    assert contradiction(["sqlite database"], "sqlite here, mysql there") == 0.0


def test_a_context_with_neither_side_does_not_contradict() -> None:
    assert contradiction(["sqlite database"], "a database") == 0.0


def test_the_other_side_counts_inside_a_word() -> None:
    assert contradiction(["jwt login"], "oauthlib") == 0.5


def test_a_side_that_is_only_a_part_of_a_word_of_the_fact_does_not_count() -> None:
    assert contradiction(["pyjwt login"], "oauth") == 0.0


def test_a_fact_with_two_contradicted_pairs_counts_once() -> None:
    assert contradiction(["sqlite and jwt", "login"], "mysql and oauth") == 0.25


def test_a_fact_counts_once_with_each_of_several_other_sides() -> None:
    assert contradiction(["sqlite", "login"], "postgresql mysql") == 0.25


def test_contradiction_is_half_the_share_of_flips_and_half_that_of_choices() -> None:
    # Of 4 facts "expired" and "revoked" are flipped, and "jwt" meets its other side.
    facts = ["expired", "revoked", "jwt", "login"]
    context = "not expired nor was it\nwithout revoked ones; oauth login"
    assert contradiction(facts, context) == 0.5 * 2 / 4 + 0.5 * 1 / 4


def test_one_fact_is_never_both_flipped_and_the_other_choice() -> None:
    # A flip needs all of the fact's words, a choice lacks one: no fact counts in both.
    assert contradiction(["jwt expired"], "not expired; oauth") == 0.5
    assert contradiction(["jwt expired"], "not expired; oauth and jwt") == 0.5


# --- The numbers together ---------------------------------------------------------------------


def test_faithfulness_is_recall_without_the_contradicted_share() -> None:
    # 2 of 4 facts recalled, 1 of 4 flipped: 0.5 · (1 − 0.125).
    found = judge(["expired", "token", "refund", "invoice"], "a token, not expired")
    assert found.faithfulness == 0.5 * (1 - 0.125)


def test_an_empty_context_recalls_nothing_and_contradicts_nothing() -> None:
    found = judge(["jwt expired"], "")
    assert (found.fact_recall, found.contradiction, found.faithfulness) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("facts", [[], ["", "x", "  "]])
def test_without_a_fact_that_counts_all_is_zero(facts: list[str]) -> None:
    found = judge(facts, "anything at all, not a word of it")
    assert (found.fact_recall, found.contradiction, found.faithfulness) == (0.0, 0.0, 0.0)
    assert found.verdicts == ()


def test_the_embedding_columns_are_unknown() -> None:
    found = judge(["token"], "token")
    assert (found.context_precision, found.context_recall, found.answer_relevance) == (None,) * 3


# --- Verdicts and evidence --------------------------------------------------------------------


def test_each_fact_has_its_verdict_in_order() -> None:
    facts = ["expired", "refund", "jwt"]
    verdicts = judge(facts, "not expired; oauth").verdicts
    assert [v.fact for v in verdicts] == facts
    assert [(v.support, v.supported, v.contradicted) for v in verdicts] == [
        (1.0, True, True),
        (0.0, False, False),
        (0.0, False, True),
    ]


def test_the_evidence_is_the_first_hit_with_all_words_of_the_fact() -> None:
    hits = (
        Hit("a.py", 3.0, 1, 9, "a token"),
        Hit("b.py", 2.0, 10, 19, "Token expiry"),
        Hit("c.py", 1.0, 20, 29, "token expiry"),
    )
    (verdict,) = judge(["token expiry"], "token expiry", hits=hits).verdicts
    assert verdict.evidence == Evidence("b.py", 10, 19)


def test_a_fact_spread_over_hits_has_no_evidence() -> None:
    hits = (Hit("a.py", 2.0, 1, 9, "token"), Hit("b.py", 1.0, 1, 9, "expiry"))
    (verdict,) = judge(["token expiry"], "token expiry", hits=hits).verdicts
    assert verdict.supported
    assert verdict.evidence is None


def test_a_hit_without_lines_is_no_evidence() -> None:
    (verdict,) = judge(["token"], "token", hits=(Hit("a.py", 1.0, text="token"),)).verdicts
    assert verdict.evidence is None


def test_what_only_the_hits_say_is_not_recalled() -> None:
    (verdict,) = judge(["token"], "other text", hits=(Hit("a.py", 1.0, 1, 2, "token"),)).verdicts
    assert not verdict.supported
    assert verdict.evidence is None


def test_the_judge_is_found_by_its_name() -> None:
    assert (judge_named("n15").name, judge_named("n15").version) == ("n15", "1")


@pytest.mark.parametrize("name", ["", "N15", "n15.N15", "../n15", "__init__", "n15\n"])
def test_an_unknown_judge_is_named_with_those_there_are(name: str) -> None:
    with pytest.raises(InputError, match="there is n15"):
        judge_named(name)


# --- Against the implementation of the specification ------------------------------------------

WORDS = re.findall(
    r"\S+",
    "a token expired expiry verify verified login art start Stripe PayPal jwt OAuth oauth2 hs256 "
    "RS256 sqlite postgresql postgres MySQL sync async soft-delete hard-delete decode_token x "
    "é 日本 -- İstanbul ſ",
)
SEPARATORS = (" ", "  ", "\n", ", ", "_", 12 * " ", ".")


def text(random: Random, words: tuple[str, ...], longest: int) -> str:
    count = random.randint(0, longest)
    return "".join(random.choice(words) + random.choice(SEPARATORS) for _ in range(count))


def test_the_numbers_are_those_of_neuralmind_on_2000_random_cases() -> None:
    peer = pytest.importorskip("neuralmind.ragas", reason="the package neuralmind is not there")
    random = Random(15)  # any seed
    kinds = set()
    for _ in range(2000):
        facts = [text(random, tuple(WORDS), 4) for _ in range(random.randint(0, 5))]
        aliases = {fact: [text(random, tuple(WORDS), 3)] for fact in facts if random.random() < 0.3}
        context = text(random, (*WORDS, *CUES, "Not", "piano"), 40)
        found = judge(facts, context, aliases)
        assert found.fact_recall == peer.fact_recall(context, facts, aliases=aliases)
        assert found.contradiction == peer.contradiction_score(context, facts)
        kinds.add((found.fact_recall > 0, found.contradiction > 0))
    assert len(kinds) == 4
