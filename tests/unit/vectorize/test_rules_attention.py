"""Batching rules of attention."""

from __future__ import annotations

import pytest

from tests.unit.vectorize.elementwise import Case, check, check_all, normal, whole

QUERY, KEY = normal(2, 4, 3, 8), normal(2, 4, 5, 8)
CACHE = normal(2, 4, 2, 8)
HEADS = {"q_num_heads": 4, "kv_num_heads": 4}
CASES = [
    Case("Attention", {}, (QUERY, KEY, KEY), (0, 1, 2)),
    Case("Attention", {"is_causal": 1}, (QUERY, KEY, KEY, normal(3, 5)), (0, 3)),
    Case("Attention", {}, (QUERY, KEY, KEY, normal(2, 1, 3, 5)), (0, 3)),
    Case("Attention", {}, (QUERY, KEY, KEY, normal(4, 3, 5)), (0, 3)),
    Case("Attention", HEADS, (normal(2, 3, 32), normal(2, 5, 32), normal(2, 5, 32)), (0, 1, 2)),
    Case("RotaryEmbedding", {}, (QUERY, normal(10, 4), normal(10, 4), whole(0, 10, 2, 3)), (0, 3)),
    Case("RotaryEmbedding", {}, (QUERY, normal(2, 3, 4), normal(2, 3, 4)), (0, 1, 2)),
    Case("TensorScatter", {}, (normal(2, 4, 6, 3), normal(2, 4, 2, 3), whole(0, 4, 2)), (0, 1, 2)),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_attention(number):
    check_all(CASES[number])


@pytest.mark.parametrize("differing", [(0,), (4, 5), (0, 1, 2, 4, 5)], ids=["q", "cache", "all"])
def test_cache(differing):
    case = Case("Attention", {}, (QUERY, KEY, KEY, None, CACHE, CACHE), (), 3)
    check(case, differing, traced=False)
