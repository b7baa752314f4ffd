"""The judge of the N-15 retrieval-quality specification, as it is, mistakes included.

It looks for words anywhere in the text, as substrings: "art" is found in "start", and a fact whose
words are spread over unrelated functions counts as recalled. That is kept on purpose, so that
numbers compare with NeuralMind's; better judges stand beside it under names of their own.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from rankgate.answers import Hit
from rankgate.judges import Evidence, Judgement, Verdict

_TOKEN = re.compile(r"[a-z0-9]+")
_CUES = frozenset(
    re.findall(
        r"\S+",
        "no not never don't doesn't didn't isn't aren't wasn't weren't cannot can't won't without "
        "false incorrect invalid unable",
    )
)
_CUE_CHARACTERS = 20
_CUE_WORDS = 3
_CHOICES = (
    ("sqlite", "postgresql"),
    ("sqlite", "postgres"),
    ("sqlite", "mysql"),
    ("stripe", "paypal"),
    ("jwt", "oauth"),
    ("hs256", "rs256"),
    ("soft-delete", "hard-delete"),
    ("sync", "async"),
)


class N15:
    """Fact recall by substrings, contradiction by negation cues and exclusive pairs."""

    name = "n15"
    version = "1"

    def judge(
        self,
        question: str,
        facts: Sequence[str],
        aliases: Mapping[str, Sequence[str]],
        context: str,
        hits: Sequence[Hit],
    ) -> Judgement:
        """See `Judge.judge`. Facts shorter than 2 characters, stripped, do not count.

        contradiction = 0.5 · flips + 0.5 · choices, both as shares of the facts.
        """
        text = context.lower()
        counted = [fact for fact in facts if len(fact.strip()) >= 2]
        verdicts, flips, choices = [], 0, 0
        for fact in counted:
            wordings = [_tokens(wording) for wording in (fact, *aliases.get(fact, ()))]
            recalled = [tokens for tokens in wordings if _all_in(tokens, text)]
            flipped, chosen = _is_flipped(wordings[0], text), _is_other_choice(wordings[0], text)
            flips += flipped
            choices += chosen
            verdicts.append(
                Verdict(
                    fact=fact,
                    support=1.0 if recalled else 0.0,
                    supported=bool(recalled),
                    contradicted=flipped or chosen,
                    evidence=_evidence(recalled, hits),
                )
            )
        count = len(counted) or 1
        return Judgement(
            verdicts=tuple(verdicts),
            fact_recall=sum(verdict.supported for verdict in verdicts) / count,
            contradiction=0.5 * (flips / count) + 0.5 * (choices / count),
        )


def _tokens(text: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(text.lower()))


def _all_in(tokens: Iterable[str], text: str) -> bool:
    """Whether there are tokens, and each is somewhere in the text."""
    tokens = tuple(tokens)
    return bool(tokens) and all(token in text for token in tokens)


def _is_flipped(tokens: frozenset[str], text: str) -> bool:
    """All tokens occur, and shortly before the first place of one stands a negation cue."""
    return _all_in(tokens, text) and any(_is_negated(token, text) for token in tokens)


def _is_negated(token: str, text: str) -> bool:
    place = text.find(token)
    before = text[max(0, place - _CUE_CHARACTERS) : place].split()
    return not _CUES.isdisjoint(before[-_CUE_WORDS:])


def _is_other_choice(tokens: frozenset[str], text: str) -> bool:
    """The fact names one side of a pair, the text only the other."""
    sides = (*_CHOICES, *((other, one) for one, other in _CHOICES))
    return any(one in tokens and other in text and one not in text for one, other in sides)


def _evidence(wordings: Sequence[frozenset[str]], hits: Sequence[Hit]) -> Evidence | None:
    """The first hit that has all tokens of a wording by itself; often no single one has."""
    for hit in hits:
        text = hit.text.lower()
        if hit.start_line and any(_all_in(tokens, text) for tokens in wordings):
            return Evidence(hit.module, hit.start_line, hit.end_line)
    return None
