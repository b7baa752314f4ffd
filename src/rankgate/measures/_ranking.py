"""How every measure reads a ranking: a module counts once, at its first place."""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet


def top(actual: Sequence[str], k: int) -> Sequence[str]:
    """The first `k` different modules of `actual`, in order; none when `k` is not positive."""
    if k <= 0:
        return ()
    head = actual[:k]
    if len(set(head)) == len(head):
        return head
    return list(dict.fromkeys(actual))[:k]


def as_set(modules: Collection[str]) -> AbstractSet[str]:
    """`modules` itself when it is a set or a dictionary's keys, else a set of it."""
    return modules if isinstance(modules, AbstractSet) else set(modules)
