"""What graphs refuse: the numbers are in saved bundles, so they stay."""

from __future__ import annotations

import pytest

from tfx.core.refusals import Refusal, of_dimension, refusal_in

NUMBERS = {
    "JOINED": 7,
    "STACKED": 8,
    "ENSURED": 9,
    "SEGMENT_SUM": 10,
    "PARTITIONS": 11,
    "UNRAVELED": 12,
    "NEGATIVE_POWER": 13,
    "SEGMENT_MEAN": 14,
    "SEGMENT_PROD": 15,
    "SEGMENT_MAX": 16,
    "SEGMENT_MIN": 17,
    "SLICED": 18,
    "RANGE_UPWARDS": 19,
    "RANGE_DOWNWARDS": 20,
    "RANGE": 21,
    "DEPTH": 22,
    "PADDINGS": 23,
    "COUNTED": 24,
    "SIDE": 25,
    "LONGEST": 26,
    "PERMUTATION": 27,
    "ENSURED_RANK": 28,
    "REVERSED": 31,
    "NO_SEQUENCES": 29,
    "BATCH_GATHERED": 30,
    "ROW_PARTITION": 32,
    "ROW_LENGTHS": 33,
    "SPARSE_INDICES": 34,
    "SPARSE_SHAPES": 35,
    "SPARSE_INNER": 36,
    "SPARSE_RESHAPE": 37,
    "SPARSE_MAPPED": 38,
    "SPARSE_RESET": 39,
    "SPARSE_RIGHT_RAGGED": 40,
    "SPARSE_SIZE": 41,
    "CTC_FRAMES": 42,
    "SEGMENT_IDS": 43,
    "SEGMENT_ROWS": 44,
    "COUNT": 45,
    "DIAGONAL": 46,
    "BROADCAST": 47,
    "SHUFFLED": 48,
    "STITCHED": 49,
}


def test_numbers_never_change():
    assert {r.name: -(2**40) - r.dimension for r in Refusal} == NUMBERS
    assert len(Refusal.__members__) == len(list(Refusal))


@pytest.mark.parametrize("reason", Refusal)
def test_found_by_what_the_runtime_says(reason):
    for said in ("The dimension with value less than -1, got", "Invalid dimension value:"):
        text = f"{said} {reason.dimension}"
        assert refusal_in(text) is of_dimension(reason.dimension) is reason
    assert f"{reason.text} in {reason.op}" in str(reason)


@pytest.mark.parametrize("text", ["", "less than -1, got -2", "got -1099511627783"])
def test_other_failures(text):
    assert refusal_in(text) is None


def test_where_it_happened_stands_before_the_advice():
    said = Refusal.SEGMENT_SUM.said(" in function 'f'")
    assert said.startswith(
        "segment ids are not increasing from 0 on in SegmentSum in function 'f';"
    )
