"""What holds of the measures for every ranking and every grading."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankgate.measures import (
    evaluate,
    hit_rate,
    judged_at_k,
    mean,
    mrr,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)

# The same examples on every machine, and no example that fails for being slow.
repeatable = settings(derandomize=True, deadline=None, database=None)

# Few names, so that rankings and grades overlap; some with spaces, Unicode and odd order.
MODULES = ["a.py", "b/a.py", "b/ä.py", "z z.py", "日本.py", "c.py", "d.py", "B.py"]
STRANGERS = ["x.py", "y y.py", "ž.py"]

modules = st.sampled_from(MODULES)
grades_of_a_query = st.dictionaries(modules, st.integers(0, 3))
rankings = st.lists(st.sampled_from(MODULES + STRANGERS), max_size=14)
rankings_without_repeats = st.lists(st.sampled_from(MODULES + STRANGERS), unique=True)
cutoffs = st.integers(-2, 16)
positive_cutoffs = st.integers(1, 16)
queries = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3", "q 4", "質問"]), st.tuples(rankings, grades_of_a_query)
)


def relevant_in(grades):
    return {module for module, grade in grades.items() if grade >= 1}


def all_measures(ranking, grades, k):
    return evaluate({"q": ranking}, {"q": grades}, cutoffs=[k])["q"]


def without_repeats(ranking):
    return list(dict.fromkeys(ranking))


@repeatable
@given(rankings, grades_of_a_query, cutoffs)
def test_every_measure_is_between_zero_and_one(ranking, grades, k):
    assert all(0.0 <= value <= 1.0 for value in all_measures(ranking, grades, k).values())


@repeatable
@given(rankings, grades_of_a_query, st.integers(-3, 0))
def test_every_measure_with_a_cutoff_is_zero_when_k_is_not_positive(ranking, grades, k):
    values = all_measures(ranking, grades, k)
    assert {v for name, v in values.items() if name not in ("mrr", "hit_rate")} == {0.0}


@repeatable
@given(rankings_without_repeats, grades_of_a_query, positive_cutoffs, st.data())
def test_swapping_a_higher_grade_upward_never_lowers_ndcg(ranking, grades, k, data):
    pairs = [
        (i, j)
        for j in range(len(ranking))
        for i in range(j)
        if grades.get(ranking[i], 0) < grades.get(ranking[j], 0)
    ]
    assume(pairs)
    i, j = data.draw(st.sampled_from(pairs))
    swapped = list(ranking)
    swapped[i], swapped[j] = ranking[j], ranking[i]
    before, after = ndcg_at_k(ranking, grades, k), ndcg_at_k(swapped, grades, k)
    assert after > before if i < k else after == before


@repeatable
@given(rankings_without_repeats, grades_of_a_query, st.data())
def test_moving_the_first_relevant_module_up_never_lowers_mrr(ranking, grades, data):
    relevant = relevant_in(grades)
    place = next((i for i, module in enumerate(ranking) if module in relevant), 0)
    assume(place > 0)
    target = data.draw(st.integers(0, place - 1))
    moved = list(ranking)
    moved.insert(target, moved.pop(place))
    assert mrr(moved, relevant) == 1 / (target + 1) > mrr(ranking, relevant)


@repeatable
@given(rankings, grades_of_a_query, cutoffs, st.lists(st.sampled_from(STRANGERS)))
def test_an_ungraded_tail_changes_neither_recall_nor_precision_ndcg_mrr_nor_hit_rate(
    ranking, grades, k, tail
):
    before, after = all_measures(ranking, grades, k), all_measures(ranking + tail, grades, k)
    del before[f"judged_at_{k}"], after[f"judged_at_{k}"]
    assert after == before


@repeatable
@given(rankings.filter(bool), grades_of_a_query, cutoffs, st.data())
def test_a_module_repeated_further_down_changes_nothing(ranking, grades, k, data):
    first = data.draw(st.integers(0, len(ranking) - 1))
    place = data.draw(st.integers(first + 1, len(ranking)))
    repeated = [*ranking[:place], ranking[first], *ranking[place:]]
    assert all_measures(repeated, grades, k) == all_measures(ranking, grades, k)


@repeatable
@given(rankings, grades_of_a_query, cutoffs)
def test_a_ranking_measures_as_the_same_ranking_without_its_repeats(ranking, grades, k):
    assert all_measures(ranking, grades, k) == all_measures(without_repeats(ranking), grades, k)


@repeatable
@given(queries, st.randoms(use_true_random=False))
def test_the_order_of_the_queries_changes_no_value_and_no_mean(queries, random):
    def measured(order):
        run = {query: queries[query][0] for query in order}
        return evaluate(run, {query: queries[query][1] for query in order})

    order = list(queries)
    random.shuffle(order)
    straight, shuffled = measured(queries), measured(order)
    assert list(shuffled) == order
    assert shuffled == straight
    assert mean(shuffled.values()) == mean(straight.values())


@repeatable
@given(rankings, grades_of_a_query, positive_cutoffs)
def test_ndcg_is_one_exactly_when_the_first_k_are_the_best_in_the_best_order(ranking, grades, k):
    assume(relevant_in(grades))
    got = [grades.get(module, 0) for module in without_repeats(ranking)][:k]
    best = sorted(grades.values(), reverse=True)[:k]
    in_best_order = got + [0] * (k - len(got)) == best + [0] * (k - len(best))
    assert (ndcg_at_k(ranking, grades, k) == 1.0) == in_best_order


@repeatable
@given(rankings, grades_of_a_query, cutoffs)
def test_recall_never_falls_as_k_grows(ranking, grades, k):
    relevant = relevant_in(grades)
    assert recall_at_k(ranking, relevant, k) <= recall_at_k(ranking, relevant, k + 1)


@repeatable
@given(rankings, grades_of_a_query, positive_cutoffs)
def test_precision_times_k_and_recall_times_relevant_are_the_same_hits(ranking, grades, k):
    relevant = relevant_in(grades)
    hits = len(relevant & set(without_repeats(ranking)[:k]))
    assert precision_at_k(ranking, relevant, k) == hits / k
    assert recall_at_k(ranking, relevant, k) == (hits / len(relevant) if relevant else 0.0)


@repeatable
@given(rankings, grades_of_a_query)
def test_something_was_hit_exactly_when_mrr_and_the_recall_of_the_whole_ranking_are_positive(
    ranking, grades
):
    relevant = relevant_in(grades)
    hit = hit_rate(ranking, relevant)
    assert hit == (1.0 if mrr(ranking, relevant) > 0 else 0.0)
    assert hit == (1.0 if recall_at_k(ranking, relevant, len(ranking)) > 0 else 0.0)


@repeatable
@given(rankings, grades_of_a_query, positive_cutoffs)
def test_a_ranking_is_fully_judged_exactly_when_its_first_k_all_have_a_grade(ranking, grades, k):
    head = without_repeats(ranking)[:k]
    fully = bool(head) and all(module in grades for module in head)
    assert (judged_at_k(ranking, grades, k) == 1.0) == fully


@repeatable
@given(rankings, grades_of_a_query, cutoffs)
def test_the_names_of_the_modules_do_not_matter(ranking, grades, k):
    # Reversing the alphabet would show any place where a tie is broken by name.
    names = sorted(MODULES + STRANGERS)
    renamed = dict(zip(names, reversed(names), strict=True))
    new_grades = {renamed[module]: grade for module, grade in grades.items()}
    new_ranking = [renamed[module] for module in ranking]
    assert all_measures(new_ranking, new_grades, k) == all_measures(ranking, grades, k)


@repeatable
@given(rankings, grades_of_a_query, cutoffs, st.integers(1, 3))
def test_skipping_ungraded_modules_equals_measuring_the_condensed_ranking(
    ranking, grades, k, relevant_grade
):
    qrels = {"q": grades}
    condensed = [module for module in ranking if module in grades]
    skipped = evaluate({"q": ranking}, qrels, [k], relevant_grade, skip_ungraded=True)["q"]
    expected = evaluate({"q": condensed}, qrels, [k], relevant_grade)["q"]
    expected[f"judged_at_{k}"] = judged_at_k(ranking, grades, k)
    assert skipped == expected


@repeatable
@given(rankings, grades_of_a_query, cutoffs, st.integers(1, 3))
def test_evaluate_returns_what_the_single_measures_return(ranking, grades, k, relevant_grade):
    relevant = {module for module, grade in grades.items() if grade >= relevant_grade}
    assert evaluate({"q": ranking}, {"q": grades}, [k], relevant_grade)["q"] == {
        "mrr": mrr(ranking, relevant),
        "hit_rate": hit_rate(ranking, relevant),
        f"recall_at_{k}": recall_at_k(ranking, relevant, k),
        f"precision_at_{k}": precision_at_k(ranking, relevant, k),
        f"ndcg_at_{k}": ndcg_at_k(ranking, grades, k),
        f"judged_at_{k}": judged_at_k(ranking, grades, k),
    }
