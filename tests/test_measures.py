"""The measures against values worked by hand; the arithmetic stands in each test."""

import math
from math import log2

import pytest

from rankgate.measures import (
    CUTOFFS,
    evaluate,
    hit_rate,
    judged_at_k,
    mean,
    mrr,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)

# --- The worked examples of the N-15 specification ---------------------------------------------


def test_n15_example_two_of_three_expected_modules_in_the_top_five_is_a_recall_of_two_thirds():
    assert recall_at_k(["a", "x", "b", "y", "z", "c"], {"a", "b", "c"}, 5) == 2 / 3


def test_n15_example_two_relevant_modules_in_the_top_five_is_a_precision_of_two_fifths():
    assert precision_at_k(["a", "x", "b", "y", "z"], {"a", "b"}, 5) == 2 / 5


def test_n15_example_first_relevant_module_at_position_two_is_a_reciprocal_rank_of_one_half():
    assert mrr(["x", "a", "b"], {"a", "b"}) == 1 / 2


def test_n15_example_an_essential_module_at_position_five_scores_below_one_at_position_one():
    grades = {"essential": 3}
    assert ndcg_at_k(["essential", "w", "x", "y", "z"], grades, 5) == 1.0
    # DCG = 7 / log2(6), ideal = 7 / log2(2) = 7
    assert ndcg_at_k(["w", "x", "y", "z", "essential"], grades, 5) == pytest.approx(1 / log2(6))


# --- recall@k ----------------------------------------------------------------------------------


def test_recall_counts_only_the_first_k_modules():
    assert recall_at_k(["a", "x", "b"], {"a", "b"}, 2) == 1 / 2


def test_recall_sees_the_module_at_rank_k_itself():
    assert recall_at_k(["x", "y", "a"], {"a"}, 3) == 1.0
    assert recall_at_k(["x", "y", "a"], {"a"}, 2) == 0.0


def test_recall_divides_by_all_relevant_modules_also_when_k_is_smaller():
    assert recall_at_k(["a", "b"], {"a", "b", "c", "d"}, 2) == 2 / 4


def test_recall_with_k_beyond_the_ranking_looks_at_the_whole_ranking():
    assert recall_at_k(["a"], {"a", "b"}, 100) == 1 / 2


def test_recall_moves_later_modules_up_past_a_repeated_one():
    # Different modules in order: a, b; so b is at rank 2 although it stands at place 4.
    assert recall_at_k(["a", "a", "a", "b"], {"a", "b"}, 2) == 2 / 2


def test_recall_counts_a_repeated_relevant_module_once():
    assert recall_at_k(["a", "a", "x"], {"a", "b"}, 3) == 1 / 2


def test_recall_counts_a_module_listed_twice_as_relevant_once():
    assert recall_at_k(["a"], ["a", "a", "b"], 5) == 1 / 2


def test_recall_takes_a_list_a_tuple_or_a_set_of_relevant_modules_alike():
    for relevant in (["a", "b"], ("a", "b"), {"a", "b"}, frozenset("ab"), {"a": 1, "b": 1}.keys()):
        assert recall_at_k(("x", "a"), relevant, 5) == 1 / 2


@pytest.mark.parametrize("k", [0, -1, -5])
def test_recall_is_zero_when_k_is_not_positive(k):
    assert recall_at_k(["a", "b", "c"], {"a"}, k) == 0.0


def test_recall_of_an_empty_ranking_is_zero():
    assert recall_at_k([], {"a"}, 5) == 0.0


def test_recall_is_zero_and_no_division_by_zero_when_nothing_is_relevant():
    assert recall_at_k(["a"], set(), 5) == 0.0


# --- precision@k -------------------------------------------------------------------------------


def test_precision_divides_by_k_also_when_fewer_came_back():
    # trec_eval's P_5 of a ranking of one relevant module: 1 / 5, not 1 / 1.
    assert precision_at_k(["a"], {"a"}, 5) == 1 / 5


def test_precision_counts_only_the_first_k_modules():
    assert precision_at_k(["a", "x", "b", "c"], {"a", "b", "c"}, 3) == 2 / 3


def test_precision_at_one_is_one_when_the_first_module_is_relevant():
    assert precision_at_k(["a", "x"], {"a"}, 1) == 1.0


def test_precision_counts_a_repeated_relevant_module_once():
    assert precision_at_k(["a", "a", "x"], {"a"}, 2) == 1 / 2


def test_precision_moves_later_modules_up_past_a_repeated_one():
    assert precision_at_k(["x", "x", "a", "b"], {"a", "b"}, 3) == 2 / 3


@pytest.mark.parametrize("k", [0, -1, -5])
def test_precision_is_zero_when_k_is_not_positive(k):
    assert precision_at_k(["a", "b", "c"], {"a"}, k) == 0.0


def test_precision_of_an_empty_ranking_is_zero():
    assert precision_at_k([], {"a"}, 5) == 0.0


def test_precision_is_zero_when_nothing_is_relevant():
    assert precision_at_k(["a"], [], 5) == 0.0


# --- MRR ---------------------------------------------------------------------------------------


def test_reciprocal_rank_is_one_when_the_first_module_is_relevant():
    assert mrr(["a", "x"], {"a"}) == 1.0


def test_reciprocal_rank_takes_the_first_of_several_relevant_modules():
    assert mrr(["x", "y", "a", "b"], {"b", "a"}) == 1 / 3


def test_reciprocal_rank_looks_at_the_whole_ranking():
    assert mrr([f"x{i}" for i in range(199)] + ["a"], {"a"}) == 1 / 200


def test_reciprocal_rank_counts_a_repeated_module_above_once():
    # Different modules in order: x, y, a; so a is at rank 3 although it stands at place 5.
    assert mrr(["x", "x", "y", "x", "a"], {"a"}) == 1 / 3


def test_reciprocal_rank_does_not_change_when_the_relevant_module_is_repeated_below():
    assert mrr(["x", "a", "a"], {"a"}) == 1 / 2


def test_reciprocal_rank_takes_a_list_of_relevant_modules():
    assert mrr(("x", "a"), ["b", "a"]) == 1 / 2


def test_reciprocal_rank_is_zero_when_no_relevant_module_was_retrieved():
    assert mrr(["x", "y"], {"a"}) == 0.0


def test_reciprocal_rank_of_an_empty_ranking_is_zero():
    assert mrr([], {"a"}) == 0.0


def test_reciprocal_rank_is_zero_when_nothing_is_relevant():
    assert mrr(["a"], set()) == 0.0


# --- nDCG@k ------------------------------------------------------------------------------------


def test_ndcg_gain_is_exponential_in_the_grade_and_the_discount_logarithmic_in_the_rank():
    # The ranking has grades 2, 3, 0, 1; the best order is 3, 2, 1, 0.
    grades = {"a": 2, "b": 3, "c": 0, "d": 1}
    dcg = 3 / log2(2) + 7 / log2(3) + 0 / log2(4) + 1 / log2(5)
    ideal = 7 / log2(2) + 3 / log2(3) + 1 / log2(4) + 0 / log2(5)
    assert ndcg_at_k(["a", "b", "c", "d"], grades, 4) == pytest.approx(dcg / ideal, abs=1e-15)


def test_ndcg_of_one_module_at_rank_two_is_its_discount():
    # (7 / log2(3)) / (7 / log2(2))
    assert ndcg_at_k(["x", "a"], {"a": 3}, 5) == pytest.approx(1 / log2(3), abs=1e-15)


def test_ndcg_lets_one_essential_module_outweigh_two_relevant_ones():
    # With the linear gain (2 + 2 / log2(3) > 3) it would be the other way round.
    grades = {"essential": 3, "b": 2, "c": 2}
    ideal = 7 + 3 / log2(3)
    assert ndcg_at_k(["essential"], grades, 2) == pytest.approx(7 / ideal)
    assert ndcg_at_k(["b", "c"], grades, 2) == pytest.approx((3 + 3 / log2(3)) / ideal)
    assert ndcg_at_k(["essential"], grades, 2) > ndcg_at_k(["b", "c"], grades, 2)


def test_ndcg_of_the_best_order_is_exactly_one():
    assert ndcg_at_k(["c", "a", "b"], {"a": 2, "b": 1, "c": 3, "d": 0}, 3) == 1.0


def test_ndcg_ideal_is_over_all_graded_modules_not_only_the_retrieved():
    # The best module was not retrieved: DCG = 1 / log2(2), ideal = 7 / log2(2) + 1 / log2(3).
    expected = 1 / (7 + 1 / log2(3))
    assert ndcg_at_k(["small"], {"small": 1, "missed": 3}, 5) == pytest.approx(expected)


def test_ndcg_ideal_is_cut_at_k_too():
    # Three essential modules; with k = 1 one of them on top is all that can be had.
    assert ndcg_at_k(["a", "x", "y"], {"a": 3, "b": 3, "c": 3}, 1) == 1.0


def test_ndcg_ideal_of_a_short_ranking_still_reaches_to_k():
    # DCG = 7; ideal at k = 3: 7 + 7 / log2(3) + 7 / log2(4); the sevens cancel.
    expected = 1 / (1 + 1 / log2(3) + 1 / 2)
    assert ndcg_at_k(["a"], {"a": 3, "b": 3, "c": 3}, 3) == pytest.approx(expected)


def test_ndcg_counts_only_the_first_k_modules():
    # b at rank 3 is out of sight at k = 2: DCG = 1, ideal = 1 + 1 / log2(3).
    expected = 1 / (1 + 1 / log2(3))
    assert ndcg_at_k(["a", "x", "b"], {"a": 1, "b": 1}, 2) == pytest.approx(expected)


def test_ndcg_with_k_beyond_everything_looks_at_the_whole_ranking():
    # DCG = 1 / log2(3), ideal = 1.
    assert ndcg_at_k(["x", "a"], {"a": 1}, 1000) == pytest.approx(1 / log2(3))


def test_ndcg_counts_a_module_without_a_grade_as_irrelevant():
    assert ndcg_at_k(["stranger", "a"], {"a": 1}, 2) == ndcg_at_k(["z", "a"], {"a": 1, "z": 0}, 2)


def test_ndcg_never_exceeds_one_when_the_best_module_is_repeated():
    # Counting each place would give (7 + 7 / log2(3)) / 7 = 1.63.
    assert ndcg_at_k(["a", "a", "a"], {"a": 3}, 3) == 1.0


def test_ndcg_moves_later_modules_up_past_a_repeated_one():
    assert ndcg_at_k(["a", "a", "b"], {"a": 3, "b": 2}, 2) == 1.0


def test_ndcg_gives_a_negative_grade_no_gain_as_trec_eval_does():
    # TREC marks spam with −2. DCG = 1 / log2(3), ideal = 1.
    assert ndcg_at_k(["junk", "a"], {"junk": -2, "a": 1}, 2) == pytest.approx(1 / log2(3))


@pytest.mark.parametrize("k", [0, -1, -5])
def test_ndcg_is_zero_when_k_is_not_positive(k):
    assert ndcg_at_k(["a", "b", "c"], {"a": 3, "b": 2, "c": 1}, k) == 0.0


def test_ndcg_of_an_empty_ranking_is_zero():
    assert ndcg_at_k([], {"a": 3}, 5) == 0.0


def test_ndcg_of_a_ranking_without_a_hit_is_a_plain_zero_and_no_minus_zero():
    assert str(ndcg_at_k(["x"], {"a": 3}, 5)) == "0.0"


def test_ndcg_is_zero_and_not_nan_when_every_grade_is_zero():
    assert ndcg_at_k(["a"], {"a": 0}, 5) == 0.0


def test_ndcg_is_zero_when_nothing_is_graded():
    assert ndcg_at_k(["a"], {}, 5) == 0.0


# --- hit rate ----------------------------------------------------------------------------------


def test_hit_rate_is_one_when_a_relevant_module_came_back_at_any_rank():
    assert hit_rate([f"x{i}" for i in range(99)] + ["a"], {"a"}) == 1.0


def test_hit_rate_is_one_not_more_for_several_relevant_modules():
    assert hit_rate(["a", "b", "a"], ["a", "b"]) == 1.0


def test_hit_rate_is_zero_when_only_irrelevant_modules_came_back():
    assert hit_rate(["x", "y"], {"a"}) == 0.0


def test_hit_rate_of_an_empty_ranking_is_zero():
    assert hit_rate([], {"a"}) == 0.0


def test_hit_rate_is_zero_when_nothing_is_relevant():
    assert hit_rate(["a"], set()) == 0.0


# --- judged@k ----------------------------------------------------------------------------------


def test_judged_is_the_share_of_the_first_k_with_a_grade():
    assert judged_at_k(["a", "x", "b", "y"], {"a", "b"}, 3) == 2 / 3


def test_judged_divides_by_what_came_back_when_that_is_less_than_k():
    # As Judged@5 of ir_measures: 1 of 2, not 1 of 5.
    assert judged_at_k(["a", "x"], {"a"}, 5) == 1 / 2


def test_judged_counts_a_repeated_module_once():
    # Different modules in order: a, x.
    assert judged_at_k(["a", "a", "a", "x"], {"a"}, 3) == 1 / 2


def test_judged_takes_any_collection_of_graded_modules():
    assert judged_at_k(("a", "x"), ["a", "a"], 5) == 1 / 2


@pytest.mark.parametrize("k", [0, -1])
def test_judged_is_zero_when_k_is_not_positive(k):
    assert judged_at_k(["a", "b"], {"a", "b"}, k) == 0.0


def test_judged_of_an_empty_ranking_is_zero_and_no_division_by_zero():
    assert judged_at_k([], {"a"}, 5) == 0.0


# --- evaluate ----------------------------------------------------------------------------------


def test_evaluate_computes_every_measure_of_a_query():
    # Grades along the ranking: none, 1, 3, 0; missed is not retrieved. Relevant: a, b, missed.
    qrels = {"q": {"a": 1, "b": 3, "zero": 0, "missed": 2}}
    run = {"q": ["x", "a", "b", "zero"]}
    assert evaluate(run, qrels, cutoffs=[3]) == {
        "q": {
            "mrr": 1 / 2,
            "hit_rate": 1.0,
            "recall_at_3": 2 / 3,
            "precision_at_3": 2 / 3,
            "ndcg_at_3": pytest.approx((1 / log2(3) + 7 / 2) / (7 + 3 / log2(3) + 1 / 2)),
            "judged_at_3": 2 / 3,
        }
    }


def test_evaluate_uses_the_cutoffs_one_three_and_five_unless_told_otherwise():
    values = evaluate({"q": ["x", "y", "a"]}, {"q": {"a": 1}})["q"]
    assert CUTOFFS == (1, 3, 5)
    assert [values[f"recall_at_{k}"] for k in (1, 3, 5)] == [0.0, 1.0, 1.0]
    assert len(values) == 2 + 4 * 3


def test_evaluate_measures_each_cutoff_by_its_own_k():
    values = evaluate({"q": ["a", "x", "b"]}, {"q": {"a": 1, "b": 1}}, cutoffs=(2, 10))["q"]
    assert (values["precision_at_2"], values["precision_at_10"]) == (1 / 2, 2 / 10)
    assert (values["judged_at_2"], values["judged_at_10"]) == (1 / 2, 2 / 3)


def test_evaluate_gives_zero_everywhere_to_a_query_that_the_run_lacks():
    values = evaluate({}, {"q": {"a": 3}})["q"]
    assert set(values.values()) == {0.0}
    assert len(values) == 14


def test_evaluate_leaves_out_a_query_that_the_qrels_lack():
    assert list(evaluate({"q": ["a"], "stranger": ["a"]}, {"q": {"a": 1}})) == ["q"]


def test_evaluate_keeps_the_order_of_the_qrels():
    run = {"a": ["m"], "b": ["m"], "c": ["m"]}
    assert list(evaluate(run, {q: {"m": 1} for q in "cab"})) == ["c", "a", "b"]


def test_evaluate_counts_grade_one_as_relevant_by_default():
    values = evaluate({"q": ["a", "z"]}, {"q": {"a": 1, "z": 0}}, cutoffs=[2])["q"]
    assert (values["precision_at_2"], values["mrr"], values["hit_rate"]) == (1 / 2, 1.0, 1.0)


def test_evaluate_with_relevant_grade_two_takes_a_tangential_module_for_irrelevant():
    run, qrels = {"q": ["one", "two", "three"]}, {"q": {"one": 1, "two": 2, "three": 3, "m": 2}}
    values = evaluate(run, qrels, cutoffs=[2], relevant_grade=2)["q"]
    assert values["mrr"] == 1 / 2
    assert values["recall_at_2"] == 1 / 3
    assert values["precision_at_2"] == 1 / 2


def test_evaluate_with_relevant_grade_two_scores_a_query_with_only_tangential_modules_zero():
    values = evaluate({"q": ["a"]}, {"q": {"a": 1}}, cutoffs=[1], relevant_grade=2)["q"]
    assert (values["mrr"], values["hit_rate"], values["recall_at_1"]) == (0.0, 0.0, 0.0)


def test_evaluate_keeps_the_gain_of_grades_below_relevant_grade_in_ndcg():
    # DCG = 1 / 1, ideal = 3 / 1, whatever counts as relevant.
    run, qrels = {"q": ["one"]}, {"q": {"one": 1, "two": 2}}
    for relevant_grade in (1, 2):
        values = evaluate(run, qrels, cutoffs=[1], relevant_grade=relevant_grade)["q"]
        assert values["ndcg_at_1"] == pytest.approx(1 / 3)


def test_evaluate_counts_ungraded_modules_as_irrelevant_by_default():
    values = evaluate({"q": ["x", "y", "a"]}, {"q": {"a": 3}}, cutoffs=[2])["q"]
    assert (values["mrr"], values["recall_at_2"]) == (1 / 3, 0.0)


def test_evaluate_with_skip_ungraded_takes_ungraded_modules_out_of_the_ranking():
    run, qrels = {"q": ["x", "zero", "y", "a"]}, {"q": {"a": 3, "zero": 0}}
    values = evaluate(run, qrels, cutoffs=[2], skip_ungraded=True)["q"]
    # Condensed: zero, a.
    assert values["mrr"] == 1 / 2
    assert values["recall_at_2"] == 1.0
    assert values["precision_at_2"] == 1 / 2
    assert values["ndcg_at_2"] == pytest.approx(1 / log2(3))


def test_evaluate_with_skip_ungraded_keeps_judged_of_the_ranking_as_it_came():
    values = evaluate({"q": ["x", "a"]}, {"q": {"a": 3}}, cutoffs=[2], skip_ungraded=True)["q"]
    assert values["judged_at_2"] == 1 / 2


def test_evaluate_with_skip_ungraded_scores_a_query_that_the_run_lacks_zero():
    assert set(evaluate({}, {"q": {"a": 1}}, skip_ungraded=True)["q"].values()) == {0.0}


def test_evaluate_counts_a_module_graded_zero_as_judged_but_not_as_a_hit():
    values = evaluate({"q": ["zero"]}, {"q": {"zero": 0, "a": 1}}, cutoffs=[1])["q"]
    assert (values["judged_at_1"], values["hit_rate"], values["precision_at_1"]) == (1.0, 0.0, 0.0)


def test_evaluate_leaves_the_run_and_the_qrels_as_they_were():
    run, qrels = {"q": ["a", "a", "x"]}, {"q": {"b": 1, "a": 3}}
    evaluate(run, qrels, skip_ungraded=True)
    assert run == {"q": ["a", "a", "x"]}
    assert list(qrels["q"].items()) == [("b", 1), ("a", 3)]


def test_evaluate_without_queries_is_empty():
    assert evaluate({"q": ["a"]}, {}) == {}


# --- mean --------------------------------------------------------------------------------------


def test_mean_divides_by_all_rows():
    assert mean([{"mrr": 1.0, "hit_rate": 1.0}, {"mrr": 0.5, "hit_rate": 0.0}]) == {
        "mrr": 0.75,
        "hit_rate": 0.5,
    }


def test_mean_counts_a_query_that_the_run_lacks_as_zero():
    values = evaluate({"q1": ["a"]}, {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}})
    assert mean(values.values())["mrr"] == 1 / 3


def test_mean_of_no_rows_is_empty():
    assert mean([]) == {}


def test_mean_of_one_row_is_that_row():
    assert mean([{"mrr": 1 / 3}]) == {"mrr": 1 / 3}


def test_mean_is_rounded_once_and_so_free_of_the_drift_of_repeated_addition():
    # Ten times 0.1 added up one by one is 0.9999999999999999.
    assert mean([{"mrr": 0.1}] * 10) == {"mrr": 0.1}


def test_every_value_is_a_finite_float():
    for run in ({}, {"q": []}, {"q": ["a", "a"]}):
        for grades in ({}, {"a": 0}, {"a": 3}):
            for value in evaluate(run, {"q": grades})["q"].values():
                assert type(value) is float
                assert math.isfinite(value)
