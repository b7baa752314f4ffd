"""What a difference between two runs on the same queries is worth.

Everything here takes the paired differences of the queries, after − before: an array of floats.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Small = NDArray[np.uint16] | NDArray[np.int8]  # kept between cells: few bytes
EXACT_UP_TO = 13  # 2^13 = 8192 sign patterns are fewer than the usual number of resamples
_BLOCK = 1 << 21  # numbers of a resampling matrix in memory at once


@dataclass(frozen=True)
class Difference:
    """A measure before and after, on the same queries.

    Attributes:
        low, high: 95 % interval (or as asked) of the mean difference.
        p: two-sided p-value of the randomisation test.
        wins, ties, losses: queries that are better, equal, worse after.
        spread: the differences' standard deviation (n − 1); 0 when all are equal.
    """

    before: float
    after: float
    low: float
    high: float
    p: float
    wins: int
    ties: int
    losses: int
    spread: float

    @property
    def mean(self) -> float:
        return self.after - self.before

    @property
    def queries(self) -> int:
        return self.wins + self.ties + self.losses

    @property
    def effect_size(self) -> float:
        """Cohen's d_z: mean difference ÷ spread, 0 without spread.

        Source: J. Cohen, "Statistical Power Analysis for the Behavioral Sciences" (1988).
        """
        return self.mean / self.spread if self.spread else 0.0

    def detectable(self, alpha: float = 0.05, power: float = 0.8) -> float | None:
        """The smallest true difference that a two-sided test on such queries finds.

        (z_{1−α/2} + z_power) · spread / √n, from Cohen (1988). None where no query differs, so
        that the spread is not known.
        """
        if not self.spread:
            return None
        normal = NormalDist()
        z = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
        return z * self.spread / math.sqrt(self.queries)


def differences(
    before: Floats,
    after: Floats,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[Difference]:
    """Compare several measures on the same queries.

    Args:
        before, after: shape (queries, measures); at least one query.

    Returns:
        One per measure. Same input and seed, same output.
    """
    d = after - before
    lows, highs = interval(d, resamples=resamples, seed=seed, confidence=confidence)
    ps = randomisation_p(d, resamples=resamples, seed=seed)
    return [
        Difference(
            before=float(before[:, m].mean()),
            after=float(after[:, m].mean()),
            low=float(lows[m]),
            high=float(highs[m]),
            p=float(ps[m]),
            wins=int((d[:, m] > 0).sum()),
            ties=int((d[:, m] == 0).sum()),
            losses=int((d[:, m] < 0).sum()),
            spread=float(d[:, m].std(ddof=1)) if d.shape[0] > 1 else 0.0,
        )
        for m in range(d.shape[1])
    ]


def interval(
    d: Floats, *, resamples: int, seed: int, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Bias-corrected and accelerated (BCa) bootstrap interval of each column's mean.

    Source: B. Efron, "Better Bootstrap Confidence Intervals", JASA 82 (1987); the same as
    scipy.stats.bootstrap(method="BCa"). A column whose values are all equal has its mean as both
    ends.

    Args:
        d: shape (queries, measures).

    Returns:
        Low and high ends, shape (measures,).
    """
    n = d.shape[0]
    mean = d.mean(axis=0)
    constant = (d == d[:1]).all(axis=0)
    means = np.sort(_resampled_means(d, resamples, seed), axis=0)
    normal = NormalDist()
    # How far the bootstrap's median is from the mean; ties count half, as for a discrete statistic.
    below = ((means < mean).mean(axis=0) + (means <= mean).mean(axis=0)) / 2
    # The mean's jackknife values differ from the mean by deviation / (n - 1).
    deviation = d - mean
    spread = (deviation**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = np.where(constant, 0.0, (deviation**3).sum(axis=0) / (6 * spread**1.5))
    ends = np.empty((2, d.shape[1]))
    for m in range(d.shape[1]):
        if constant[m] or n < 2:
            ends[:, m] = mean[m]
            continue
        bias = normal.inv_cdf(min(max(float(below[m]), 0.5 / resamples), 1 - 0.5 / resamples))
        for end, share in enumerate(((1 - confidence) / 2, (1 + confidence) / 2)):
            z = bias + normal.inv_cdf(share)
            level = normal.cdf(bias + z / (1 - float(acceleration[m]) * z))
            ends[end, m] = np.quantile(means[:, m], min(max(level, 0.0), 1.0))
    return ends[0], ends[1]


def _resampled_means(d: Floats, resamples: int, seed: int) -> Floats:
    """The means of `resamples` draws of n queries with replacement, shape (resamples, measures)."""
    n = d.shape[0]
    rows = _rows(n, resamples)
    return np.concatenate(
        [
            _draws(n, rows, seed, block)[: resamples - block * rows].astype(np.float64) @ d / n
            for block in range(math.ceil(resamples / rows))
        ]
    )


def _rows(n: int, resamples: int) -> int:
    """How many resamples of n queries are in memory at once."""
    return min(resamples, max(1, _BLOCK // n))


@lru_cache(maxsize=32)  # cells of equally many queries share it
def _draws(n: int, rows: int, seed: int, block: int) -> Small:
    """How often each of n queries is drawn, shape (rows, n)."""
    drawn = np.random.default_rng([seed, n, block]).integers(0, n, size=(rows, n))
    drawn += (np.arange(rows) * n)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.uint16)


@lru_cache(maxsize=32)
def _signs(n: int, rows: int, seed: int, block: int) -> Small:
    """A random sign for each of n queries, shape (rows, n)."""
    bits = np.random.default_rng([seed, n, block, 1]).integers(0, 2, size=(rows, n), dtype=np.int8)
    return 1 - 2 * bits


def randomisation_p(d: Floats, *, resamples: int, seed: int) -> Floats:
    """Two-sided p-values of the paired randomisation test of each column's mean.

    Under the null hypothesis each query's difference is as likely as its negative. With up to
    13 non-zero differences all sign patterns are tried and p is exact; else `resamples` random
    ones, and p = (1 + as extreme) / (1 + resamples), which is never 0.
    Sources: R. A. Fisher, "The Design of Experiments" (1935); M. D. Smucker, J. Allan,
    B. Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval
    Evaluation", CIKM 2007; the +1 from B. Phipson and G. K. Smyth (2010).

    Args:
        d: shape (queries, measures).
    """
    ps = np.ones(d.shape[1])
    many = [m for m in range(d.shape[1]) if np.count_nonzero(d[:, m]) > EXACT_UP_TO]
    for m in set(range(d.shape[1])) - set(many):
        values = d[d[:, m] != 0, m]
        if values.size:
            patterns = (np.arange(1 << values.size)[:, None] >> np.arange(values.size)) & 1
            sums = (1 - 2 * patterns) @ values
            ps[m] = _as_extreme(sums[:, None], values.sum(keepdims=True)).mean()
    if many:
        observed = d[:, many].sum(axis=0)
        extreme = np.zeros(len(many))
        n = d.shape[0]
        rows = _rows(n, resamples)
        for block in range(math.ceil(resamples / rows)):
            signs = _signs(n, rows, seed, block)[: resamples - block * rows].astype(np.float64)
            extreme += _as_extreme(signs @ d[:, many], observed).sum(axis=0)
        ps[many] = (1 + extreme) / (1 + resamples)
    return ps


def _as_extreme(sums: Floats, observed: Floats) -> NDArray[np.bool_]:
    """Sums of other orders of the same numbers differ in their last bits: those are equal."""
    return np.abs(sums) >= np.abs(observed) * (1 - 1e-9)


def holm(ps: Sequence[float]) -> list[float]:
    """p-values adjusted for all of them being looked at, at most 1.

    Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian
    Journal of Statistics 6 (1979).
    """
    adjusted = [1.0] * len(ps)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = largest
    return adjusted
