"""The measures: pure functions of one ranking, standard library only.

recall@k = |actual[:k] ∩ relevant| / |relevant|
precision@k = |actual[:k] ∩ relevant| / k
MRR = mean of 1 / rank of the first relevant module
nDCG@k = DCG@k / ideal DCG@k, with gain 2^grade − 1 and discount log2(rank + 1)
hit rate = share of queries with a relevant module retrieved
judged@k = |actual[:k] ∩ graded| / |actual[:k]|
"""

from rankgate.measures.evaluate import CUTOFFS, evaluate, mean
from rankgate.measures.hit_rate import hit_rate
from rankgate.measures.judged import judged_at_k
from rankgate.measures.mrr import mrr
from rankgate.measures.ndcg import ndcg_at_k
from rankgate.measures.precision import precision_at_k
from rankgate.measures.recall import recall_at_k

__all__ = [
    "CUTOFFS",
    "evaluate",
    "hit_rate",
    "judged_at_k",
    "mean",
    "mrr",
    "ndcg_at_k",
    "precision_at_k",
    "recall_at_k",
]
