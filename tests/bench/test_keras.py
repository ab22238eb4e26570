"""The comparison of Keras on tfx with Keras on other backends."""

from __future__ import annotations

import tfx as tf
from bench.keras import __main__ as driver
from bench.keras import models, worker


def test_every_row_is_known_to_the_worker() -> None:
    cases = worker._cases("tfx", tf.keras)
    once = set(driver._ONCE)
    assert {row.case for row in driver.ROWS} == set(cases) | once
    assert {name.removesuffix("_memory") for name in once} <= {"first", "import", *models.MODELS}


def test_a_case_trains() -> None:
    made = models.mlp(tf.keras, steps=2)
    assert made.steps == 2
    history = made.model.fit(made.x, made.y, batch_size=made.batch, verbose=0).history
    assert set(history) == {"loss", "accuracy"}


def test_speed_is_better_where_it_is_higher_and_memory_where_it_is_lower() -> None:
    speed = driver.Row("fit", "fit", "1/s", 10, (("tensorflow", 1.2), ("jax", 0.8)))
    figures = {("fit", "tfx"): 0.01, ("fit", "tensorflow"): 0.02, ("fit", "jax"): 0.009}
    line = driver._line(speed, figures)
    assert line[1:6] == ("100", "50", "111", "2.00", "0.90")
    assert line[-2:] == ("≥ 1.2x tensorflow, ≥ 0.8x jax", "met")
    figures["fit", "jax"] = 0.007
    assert driver._line(speed, figures)[-1] == "**missed**"
    memory = driver.Row("m", "memory", "MB", promises=(("tensorflow", 1.1),))
    assert (
        driver.COMPARISON.verdict(memory, {("m", "tfx"): 1.2e9, ("m", "tensorflow"): 1e9})[1]
        == "**missed**"
    )
    assert (
        driver.COMPARISON.verdict(memory, {("m", "tfx"): 1e9, ("m", "tensorflow"): 1e9})[1] == "met"
    )
    assert driver.COMPARISON.verdict(memory, {("m", "tfx"): 1e9})[1] == "not measured"
