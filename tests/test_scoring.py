"""Scoring a cell: what every query is worth, what is wrong with it, and the means over all."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rankgate.answers import Answer, Hit
from rankgate.judges import Evidence, Judgement, Verdict
from rankgate.metrics import EMBEDDING_METRICS, metric_names
from rankgate.queries import Query, QuerySet
from rankgate.scoring import Scored, diagnose, known, metrics, record, score


class WordJudge:
    """A fact is supported when it stands in the context, contradicted when "no <fact>" does."""

    name = "words"
    version = "1"

    def judge(
        self,
        question: str,
        facts: Sequence[str],
        aliases: Mapping[str, Sequence[str]],
        context: str,
        hits: Sequence[Hit],
    ) -> Judgement:
        verdicts = tuple(
            Verdict(
                fact,
                float(fact in context),
                fact in context,
                f"no {fact}" in context,
                Evidence(hits[0].module, 1, 2) if hits and fact in context else None,
            )
            for fact in facts
        )
        return Judgement(
            verdicts,
            sum(v.supported for v in verdicts) / len(facts),
            sum(v.contradicted for v in verdicts) / len(facts),
        )


def query(
    grades: Mapping[str, int] | None = None,
    name: str = "q",
    shape: str = "focused",
    facts: tuple[str, ...] = ("red", "blue"),
) -> Query:
    return Query(name, f"the question of {name}?", shape, grades or {"a.py": 3}, facts)


def answer(*modules: str, name: str = "q", context: str | None = "red blue", **more: Any) -> Answer:
    return Answer(name, tuple(Hit(module, 1.0) for module in modules), context, **more)


def scored(queries: Sequence[Query], answers: Sequence[Answer], **more: Any) -> list[Scored]:
    shapes = tuple(dict.fromkeys(query.shape for query in queries))
    query_set = QuerySet(tuple(queries), shapes, "", "0" * 64, ())
    return score(query_set, answers, WordJudge(), **{"cutoffs": (1, 3), **more})


def scored_one(grades: Mapping[str, int], found: Answer, **more: Any) -> Scored:
    (one,) = scored([query(grades)], [found], **more)
    return one


def numbers(
    queries: Sequence[Query], answers: Sequence[Answer], corpus: int | None = None, **more: Any
) -> dict[str, Any]:
    return metrics(scored(queries, answers, **more), more.get("cutoffs", (1, 3)), corpus)


# --- Diagnosis --------------------------------------------------------------------------------

GRADES = {"a.py": 3, "b.py": 3, "c.py": 2, "d.py": 1, "e.py": 0}


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("failed", answer(failure="TimeoutError")),
        ("miss", answer("e.py", "z.py")),
        ("miss", answer()),
        ("late", answer("e.py", "a.py", "b.py")),
        ("late", answer("z.py", "a.py", "b.py")),
        ("incomplete", answer("a.py", "c.py", "d.py")),
        ("incomplete", answer("d.py")),
        ("outranked", answer("a.py", "c.py", "b.py")),
        ("outranked", answer("a.py", "b.py", "z.py", "d.py")),
        ("fact-lost", answer("a.py", "b.py", context="red")),
        ("ok", answer("a.py", "b.py")),
        ("ok", answer("b.py", "a.py", "c.py", "d.py", "e.py", "z.py")),
        ("ok", answer("a.py", "b.py", context="red blue, no blue")),
        ("ok", answer("a.py", "b.py", context=None)),
    ],
)
def test_the_diagnosis_of(word: str, found: Answer) -> None:
    assert scored_one(GRADES, found).diagnosis == word


@pytest.mark.parametrize(
    ("word", "found"),
    [
        # Each has all the faults that come after its own as well.
        ("failed", answer("e.py", context="", failure="crash")),
        ("miss", answer("e.py", context="")),
        ("late", answer("e.py", "d.py", "a.py", context="")),
        ("incomplete", answer("d.py", "a.py", context="")),
        ("outranked", answer("d.py", "a.py", "b.py", context="")),
    ],
)
def test_the_gravest_fault_names_the_diagnosis(word: str, found: Answer) -> None:
    assert scored_one(GRADES, found).diagnosis == word


def test_a_tangential_module_is_a_miss_where_only_grade_2_is_relevant() -> None:
    assert scored_one({"a.py": 2, "b.py": 1}, answer("b.py"), relevant_grade=2).diagnosis == "miss"


def test_a_tangential_module_first_is_late_where_only_grade_2_is_relevant() -> None:
    one = scored_one({"a.py": 2, "b.py": 1}, answer("b.py", "a.py"), relevant_grade=2)
    assert one.diagnosis == "late"


def test_a_query_without_essential_module_can_be_ok() -> None:
    assert scored_one({"a.py": 2, "b.py": 2}, answer("a.py")).diagnosis == "ok"


def test_several_chunks_of_a_module_outrank_nothing() -> None:
    assert scored_one({"a.py": 3, "b.py": 1}, answer("a.py", "b.py", "a.py")).diagnosis == "ok"


def test_a_skipped_ungraded_module_makes_no_answer_late() -> None:
    one = scored_one({"a.py": 3}, answer("z.py", "a.py"), ungraded="skip")
    assert (one.values["mrr"], one.diagnosis) == (1.0, "ok")


def test_a_query_whose_every_module_is_skipped_is_a_miss() -> None:
    assert scored_one({"a.py": 3}, answer("z.py"), ungraded="skip").diagnosis == "miss"


def test_diagnose_needs_no_judgement() -> None:
    assert diagnose(query(), answer("a.py"), 1, None) == "ok"


# --- One query --------------------------------------------------------------------------------


def test_missing_modules_are_the_relevant_ones_the_most_relevant_first() -> None:
    grades = {"z.py": 3, "b.py": 1, "c.py": 2, "a.py": 2, "d.py": 0, "e.py": 3}
    assert scored_one(grades, answer("z.py")).missing == ("e.py", "a.py", "c.py", "b.py")


def test_a_module_below_the_relevant_grade_is_not_missing() -> None:
    assert scored_one({"a.py": 3, "b.py": 1}, answer("a.py"), relevant_grade=2).missing == ()


def test_measures_are_of_the_modules_by_first_appearance() -> None:
    # a, b, a again, c: c is third, so that recall@3 sees both relevant modules.
    one = scored_one({"a.py": 3, "c.py": 1}, answer("a.py", "b.py", "a.py", "c.py"))
    assert one.ranking == ("a.py", "b.py", "c.py")
    assert one.values["recall_at_3"] == 1.0


def test_mrr_and_hit_rate_look_beyond_the_deepest_cutoff() -> None:
    one = scored_one({"a.py": 3}, answer("p.py", "q.py", "r.py", "a.py"))
    assert (one.values["recall_at_3"], one.values["mrr"], one.values["hit_rate"]) == (
        0.0,
        0.25,
        1.0,
    )


def test_judged_is_the_share_of_what_came_back_that_has_a_grade() -> None:
    one = scored_one({"a.py": 3, "b.py": 0}, answer("z.py", "a.py", "b.py"))
    assert one.values["judged_at_1"] == 0.0
    assert one.values["judged_at_3"] == pytest.approx(2 / 3)


def test_ungraded_modules_count_as_irrelevant() -> None:
    assert scored_one({"a.py": 3}, answer("z.py", "a.py")).values["mrr"] == 0.5


def test_skipped_ungraded_modules_make_room_but_stay_unjudged() -> None:
    one = scored_one({"a.py": 3}, answer("z.py", "a.py"), ungraded="skip")
    assert one.values["recall_at_1"] == 1.0
    assert one.values["judged_at_1"] == 0.0


def test_the_fact_measures_are_the_judges() -> None:
    # red and blue are there, blue is denied: 1 · (1 − 0.5).
    one = scored_one({"a.py": 3}, answer("a.py", context="red, no blue"))
    assert [one.values[name] for name in ("fact_recall", "contradiction", "faithfulness")] == [
        1.0,
        0.5,
        0.5,
    ]


def test_a_failed_query_is_zero_whatever_came_back_with_it() -> None:
    one = scored_one({"a.py": 3}, answer("a.py", context="red", failure="crash"))
    known = {name: value for name, value in one.values.items() if name not in EMBEDDING_METRICS}
    assert {value for name, value in known.items() if name != "context_tokens"} == {0.0}


def test_a_failed_query_without_a_context_is_zero_and_not_unknown() -> None:
    one = scored_one({"a.py": 3}, answer(context=None, failure="crash"))
    assert one.values["fact_recall"] == 0.0


# --- Means over all queries -------------------------------------------------------------------

TWO = [query(name="q"), query(name="r")]


def test_a_query_without_an_answer_is_zero_in_every_mean() -> None:
    found = numbers(TWO, [answer("a.py", context_tokens=10)])
    assert {name: found[name] for name in ("recall_at_1", "mrr", "hit_rate", "ndcg_at_3")} == {
        "recall_at_1": 0.5,
        "mrr": 0.5,
        "hit_rate": 0.5,
        "ndcg_at_3": 0.5,
    }
    assert (found["fact_recall"], found["faithfulness"], found["judged_at_1"]) == (0.5, 0.5, 0.5)
    assert found["context_tokens"] == 5.0


def test_an_answer_to_no_query_of_the_file_changes_nothing() -> None:
    answers = [answer("a.py"), answer("b.py", name="r")]
    assert numbers(TWO, [*answers, answer("a.py", name="stranger")]) == numbers(TWO, answers)


def test_a_failed_query_is_zero_in_the_means_and_counted() -> None:
    found = numbers(TWO, [answer("a.py"), answer(name="r", context="", failure="crash")])
    assert (found["mrr"], found["fact_recall"], found["failures"]) == (0.5, 0.5, 1)


def test_without_any_context_the_fact_metrics_are_unknown() -> None:
    found = numbers(TWO, [answer("a.py", context=None)], 1000)
    unknown = {name for name, value in found.items() if value is None}
    assert unknown == {
        "fact_recall",
        "contradiction",
        "faithfulness",
        *EMBEDDING_METRICS,
        "context_tokens",
        "context_tokens_p95",
        "token_reduction",
    }
    assert found["mrr"] == 0.5


def test_a_mean_over_a_query_without_context_is_unknown_and_not_a_zero() -> None:
    answers = [answer("a.py"), answer("a.py", name="r", context=None)]
    one, other = scored(TWO, answers)
    assert (one.values["fact_recall"], other.values["fact_recall"]) == (1.0, None)
    found = metrics([one, other], (1, 3), None)
    assert (found["fact_recall"], found["mrr"]) == (None, 1.0)


def test_an_empty_context_is_a_zero_and_not_unknown() -> None:
    assert numbers(TWO[:1], [answer("a.py", context="")])["faithfulness"] == 0.0


def test_without_any_answer_the_ranking_measures_are_zero() -> None:
    found = numbers(TWO, [])
    assert (found["queries"], found["mrr"], found["fact_recall"]) == (2, 0.0, None)


def test_numbers_have_six_decimals() -> None:
    found = numbers([*TWO, query(name="s")], [answer("a.py"), answer("a.py", name="r")])
    assert (found["mrr"], found["fact_recall"]) == (0.666667, 0.666667)


def test_each_shape_has_the_same_numbers_over_its_own_queries() -> None:
    queries = [
        query(name="q", shape="focused"),
        query(name="r", shape="identity"),
        query(name="s", shape="identity"),
    ]
    found = numbers(queries, [answer("a.py"), answer("b.py", "a.py", name="r", context="red")])
    assert found["mrr"] == 0.5
    assert list(found["shape"]) == ["focused", "identity"]
    assert found["shape"]["focused"]["mrr"] == 1.0
    identity = found["shape"]["identity"]
    assert (identity["queries"], identity["mrr"], identity["fact_recall"]) == (2, 0.25, 0.25)
    assert found.keys() - {"shape"} == identity.keys()


def test_token_reduction_is_the_corpus_over_the_mean_context() -> None:
    answers = [answer("a.py", context_tokens=30), answer("a.py", name="r", context_tokens=50)]
    found = numbers(TWO, answers, 1000)
    assert (found["context_tokens"], found["token_reduction"]) == (40.0, 25.0)


def test_handing_nothing_on_reduces_nothing() -> None:
    assert numbers(TWO, [answer("a.py", context="")], 1000)["token_reduction"] == 0.0


def test_token_reduction_is_unknown_without_a_corpus() -> None:
    assert numbers(TWO, [answer("a.py", context_tokens=30)])["token_reduction"] is None


def test_the_order_of_the_answers_changes_nothing() -> None:
    queries = [query(name=f"q{i}", shape=("focused", "identity")[i % 2]) for i in range(7)]
    answers = [answer("b.py", *["c.py"] * (i % 3), "a.py", name=f"q{i}") for i in range(7)]
    assert numbers(queries, answers[::-1]) == numbers(queries, answers)


def test_metrics_hold_what_their_list_of_names_says() -> None:
    found = numbers(TWO, [answer("a.py")], 1000, cutoffs=(2, 10))
    assert list(known(found)) == [*metric_names((2, 10)), "shape"]


def test_without_an_embedder_its_columns_are_unknown() -> None:
    found = numbers(TWO, [answer("a.py")], 1000)
    assert {name for name, value in found.items() if value is None} == set(EMBEDDING_METRICS)


def test_known_numbers_are_finite_ones_at_every_depth() -> None:
    found = known(numbers(TWO, [answer("a.py", context=None)], 1000))
    leaves = [v for part in (found, found["shape"]["focused"]) for v in part.values()]
    assert all(math.isfinite(v) for v in leaves if not isinstance(v, dict))
    assert "fact_recall" not in found
    assert "fact_recall" not in found["shape"]["focused"]


# --- A query's record -------------------------------------------------------------------------


def test_a_record_shows_ranking_missing_modules_facts_and_evidence() -> None:
    one = scored_one(
        {"a.py": 3, "b.py": 2, "c.py": 0},
        answer("z.py", "a.py", "z.py", "c.py", context="red", context_tokens=7, strangers=2),
    )
    shown = record(one)
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    measures = shown.pop("measures")
    digests = {"grades": one.query.grades_digest(), "facts": one.query.facts_digest()}
    assert shown.pop("ground_truth") == digests
    assert shown == {
        "id": "q",
        "question": "the question of q?",
        "shape": "focused",
        "diagnosis": "late",
        "failure": "",
        "ranking": [
            {"module": "z.py", "grade": None},
            {"module": "a.py", "grade": 3},
            {"module": "c.py", "grade": 0},
        ],
        "missing": [{"module": "b.py", "grade": 2}],
        "facts": [
            {
                "fact": "red",
                "support": 1.0,
                "supported": True,
                "contradicted": False,
                "evidence": {"module": "z.py", "start_line": 1, "end_line": 2},
            },
            {
                "fact": "blue",
                "support": 0.0,
                "supported": False,
                "contradicted": False,
                "evidence": None,
            },
        ],
        "repeated_modules": 1,
        "strangers": 2,
    }
    # 3 modules came back, 2 of 3 are graded and 1 is one of the 2 relevant ones.
    assert measures["precision_at_3"] == 0.333333
    assert (measures["recall_at_3"], measures["judged_at_3"]) == (0.5, 0.666667)
    assert (measures["fact_recall"], measures["context_tokens"]) == (0.5, 7.0)


def test_a_record_without_a_context_has_nulls_and_no_facts() -> None:
    shown = record(scored_one({"a.py": 3}, answer("a.py", context=None)))
    assert shown["facts"] == []
    assert shown["measures"]["fact_recall"] is None
