"""The facade itself: names that are also those of sub-packages."""

from __future__ import annotations

import importlib

import tfx as tf


def test_importing_a_sub_package_does_not_hide_the_function_of_its_name() -> None:
    # What the import system does when the package is imported for the first time.
    tf.function = importlib.import_module("tfx.function")
    assert tf.function(lambda: tf.constant(1.0))().numpy() == 1.0
