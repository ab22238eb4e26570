"""Examples as the tests need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tfx as tf


def feature(values: Sequence[Any]) -> tf.train.Feature:
    if values and isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if values and isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(**features: Sequence[Any]) -> bytes:
    found = {name: feature(values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=found)).SerializeToString()


def sequence(context: int, lists: Mapping[str, Sequence[Sequence[int]]]) -> bytes:
    made = {
        name: tf.train.FeatureList(feature=[feature(row) for row in rows])
        for name, rows in lists.items()
    }
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={"c": feature([context])}),
        feature_lists=tf.train.FeatureLists(feature_list=made),
    ).SerializeToString()
