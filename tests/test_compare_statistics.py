"""The statistics of a comparison: by hand, against scipy, and by simulation with a fixed seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankgate.compare.statistics import (
    differences,
    holm,
    interval,
    randomisation_p,
)

SEED = 7


def column(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


def test_p_value_by_hand() -> None:
    # |±1 ±2 ±3| of the eight sign patterns: 6 4 2 0 0 2 4 6; two are as large as 6.
    p = randomisation_p(column([1, 2, 3, 0]), resamples=100, seed=0)
    assert p[0] == 2 / 8


def test_no_difference_has_p_one_and_an_empty_interval() -> None:
    (one,) = differences(column([0.5] * 9), column([0.5] * 9))
    assert (one.p, one.low, one.high, one.effect_size, one.detectable()) == (
        1.0,
        0.0,
        0.0,
        0.0,
        None,
    )
    assert (one.wins, one.ties, one.losses) == (0, 9, 0)


@pytest.mark.parametrize("n", [8, 12])
def test_exact_p_value_is_scipys(n: int) -> None:
    d = np.random.default_rng(n).normal(0.2, 1, n)
    peer = stats.permutation_test(
        (d,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", n_resamples=np.inf
    )
    assert randomisation_p(d[:, None], resamples=100, seed=0)[0] == pytest.approx(
        peer.pvalue, abs=1e-12
    )


@pytest.mark.parametrize("shift", [0.0, 0.3, 0.6])
def test_sampled_p_value_is_near_scipys(shift: float) -> None:
    d = np.random.default_rng(3).normal(shift, 1, 40)
    peer = stats.permutation_test(
        (d,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    ours = randomisation_p(d[:, None], resamples=20_000, seed=SEED)[0]
    assert ours == pytest.approx(peer.pvalue, abs=4 * (0.25 / 20_000) ** 0.5)


@pytest.mark.parametrize("kind", ["normal", "skewed", "mostly zero"])
def test_interval_is_near_scipys(kind: str) -> None:
    random = np.random.default_rng(11)
    d = {
        "normal": random.normal(0.1, 0.3, 40),
        "skewed": random.exponential(0.3, 40) - 0.2,
        "mostly zero": random.choice([0, 0, 0, 1.0, -0.5], 40),
    }[kind]
    peer = stats.bootstrap(
        (d,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(5)
    ).confidence_interval
    low, high = interval(d[:, None], resamples=20_000, seed=SEED)
    # Of the last kind, the possible means are 1/80 apart.
    near = 0.04 * (peer.high - peer.low) + (1 / 80 if kind == "mostly zero" else 0)
    assert low[0] == pytest.approx(peer.low, abs=near)
    assert high[0] == pytest.approx(peer.high, abs=near)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels_definition(ps: list[float]) -> None:
    adjusted = holm(ps)
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    for rank, index in enumerate(order):
        steps = [(len(ps) - r) * ps[i] for r, i in enumerate(order[: rank + 1])]
        assert adjusted[index] == min(1.0, max(steps))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_effect_size_by_hand() -> None:
    (one,) = differences(column([0, 0, 0]), column([1, 2, 3]))
    assert (one.spread, one.effect_size) == (1.0, 2.0)  # mean 2, deviation 1


def test_detectable_difference_by_hand() -> None:
    # (1.959964 + 0.841621) · 1 / √3
    (one,) = differences(column([0, 0, 0]), column([1, 2, 3]))
    assert one.detectable() == pytest.approx(1.617491, abs=1e-5)


def test_same_input_gives_the_same_numbers() -> None:
    random = np.random.default_rng(2)
    before, after = random.random((50, 3)), random.random((50, 3))
    assert differences(before, after) == differences(before, after)


def test_a_column_does_not_depend_on_its_neighbours() -> None:
    random = np.random.default_rng(2)
    before, after = random.random((30, 2)), random.random((30, 2))
    both = differences(before, after)
    (alone,) = differences(before[:, 1:], after[:, 1:])
    assert alone.p == both[1].p
    assert alone.low == pytest.approx(both[1].low, abs=1e-12)


def graded_queries(random: np.random.Generator, n: int) -> np.ndarray:
    """Measures as queries have them: many at the ends, some between."""
    return random.choice([0.0, 0.2, 1 / 3, 0.5, 1.0], size=(n, 1), p=[0.15, 0.1, 0.15, 0.2, 0.4])


def test_a_a_comparisons_keep_the_stated_error_rate() -> None:
    random = np.random.default_rng(SEED)
    false_alarms = 0
    for trial in range(1000):
        before = graded_queries(random, 40)
        moved = random.random((40, 1)) < 0.3
        after = np.where(moved, graded_queries(random, 40), before)
        # A query is as likely to fall as to rise: swap the two at random.
        swap = random.random((40, 1)) < 0.5
        before, after = np.where(swap, after, before), np.where(swap, before, after)
        (one,) = differences(before, after, resamples=1000, seed=trial)
        false_alarms += one.p <= 0.05 and one.high < 0
    # 2.5 % are allowed; three standard deviations above it.
    assert false_alarms <= 25 + 3 * (1000 * 0.025 * 0.975) ** 0.5


def test_a_planted_loss_is_found_with_the_stated_power() -> None:
    random = np.random.default_rng(SEED)
    found, stated = 0, []
    for trial in range(300):
        before = random.uniform(0.4, 0.9, (40, 1))
        after = before - 0.08 + random.normal(0, 0.175, (40, 1))
        (one,) = differences(before, after, resamples=1000, seed=trial)
        stated.append(one.detectable() or 0.0)
        found += one.p <= 0.05 and one.high < 0
    # An 8-point loss is what the tool says that it finds in 80 % of the cases.
    assert np.mean(stated) == pytest.approx(0.08, abs=0.004)
    assert found / 300 == pytest.approx(0.8, abs=3 * (0.8 * 0.2 / 300) ** 0.5)
