"""Random programs over tensors: traced with converted control flow, they give what Python gives."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf
from tfx.autograph.operators.calls import entry


class Writer:
    """Writes ``f(a, b, v)``: scalars of float32 and a variable."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.counter = 0

    def text(self):
        self.lines = ["def f(a, b, v):", "    c = a * 0.5", "    d = b + 1.0", "    n = 0"]
        self.block(1, 4, loop=False)
        self.line(1, "return a, b, c, d, tf.cast(n, tf.int32)")
        return "\n".join(self.lines) + "\n"

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def fresh(self, base):
        self.counter += 1
        return f"{base}{self.counter}"

    def value(self, depth=2):
        r = self.random.random()
        if depth == 0 or r < 0.4:
            return self.random.choice(["a", "b", "c", "d", "v", "tf.cast(n, tf.float32)", "0.25"])
        x, y = self.value(depth - 1), self.value(depth - 1)
        if r < 0.75:
            return f"tf.clip_by_value({x} {self.random.choice('+-*')} {y}, -9.0, 9.0)"
        if r < 0.85:
            return f"({x} if {self.test(depth - 1)} else {y} + 0.0)"
        return f"tf.sin({x})"

    def test(self, depth=2):
        r = self.random.random()
        x, y = self.value(depth - 1 if depth else 0), self.value(depth - 1 if depth else 0)
        if r < 0.5 or depth == 0:
            return f"{x} {self.random.choice('<>')} {y} + 0.0"
        if r < 0.7:
            return f"({self.test(depth - 1)} {self.random.choice(['and', 'or'])} {self.test(0)})"
        if r < 0.8:
            return f"not ({self.test(depth - 1)})"
        if r < 0.9:
            return f"-1.0 < {x} < 2.0"
        return self.random.choice(["True", "n > 2", "n == 0"])

    def block(self, depth, size, *, loop):
        for _ in range(self.random.randint(1, size)):
            self.statement(depth, loop=loop)

    def statement(self, depth, *, loop):
        r = self.random.random()
        if depth > 3 or r < 0.4:
            self.simple(depth)
        elif r < 0.65:
            self.line(depth, f"if {self.test()}:")
            self.block(depth + 1, 3, loop=loop)
            if self.random.random() < 0.5:
                self.line(depth, "else:")
                self.block(depth + 1, 2, loop=loop)
        elif r < 0.75:
            self.loop(depth, self.random.choice(["tf.range(3)", "range(2)", "tf.range(n % 3)"]))
        elif r < 0.82:
            self.loop(depth, f"tf.stack([{self.value(1)}, {self.value(1)}])", item=True)
        elif r < 0.9:
            count = self.fresh("count")
            self.line(depth, f"{count} = {self.random.choice(['0', 'tf.constant(0)'])}")
            self.line(depth, f"while {count} < 4 and {self.test()}:")
            self.line(depth + 1, f"{count} = {count} + 1")
            self.block(depth + 1, 3, loop=True)
        elif loop and r < 0.96:
            self.line(depth, self.random.choice(["break", "continue"]))
        else:
            value = self.value()
            self.line(depth, f"return a, b, {value}, d + 0.0, tf.cast(n, tf.int32)")

    def loop(self, depth, items, *, item=False):
        name = self.fresh("i")
        self.line(depth, f"for {name} in {items}:")
        used = name if item else f"tf.cast({name}, tf.float32)"
        self.line(depth + 1, f"c = tf.clip_by_value(c + {used}, -9.0, 9.0)")
        self.block(depth + 1, 3, loop=True)
        if self.random.random() < 0.2:
            self.line(depth, "else:")
            self.block(depth + 1, 1, loop=False)

    def simple(self, depth):
        r = self.random.random()
        if r < 0.6:
            self.line(depth, f"{self.random.choice('abcd')} = {self.value()} + 0.0")
        elif r < 0.75:
            self.line(depth, "n += 1")
        elif r < 0.9:
            self.line(depth, f"v.assign(tf.clip_by_value({self.value()} + 0.0, -9.0, 9.0))")
        else:
            self.line(depth, f"x, (y, z) = {self.value()}, (a, b)")
            self.line(depth, f"{self.random.choice('abcd')} = x + y * 0.5")


def function_of(text):
    filename = f"<tensors {hash(text)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = {"tf": tf}
    exec(compile(text, filename, "exec"), scope)
    return scope["f"]


def outcome(function, a, b):
    v = tf.Variable(0.5)
    results = function(tf.constant(a), tf.constant(b), v)
    return [np.asarray(x) for x in results] + [v.numpy()]


def check(seed, a, b):
    text = Writer(seed).text()
    plain = function_of(text)
    expected = outcome(plain, a, b)
    found = outcome(tf.function(entry(plain)), a, b)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-5, err_msg=text)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([-1.5, 0.25, 2.0]), st.sampled_from([-0.75, 1.25]))
def test_programs_agree_with_python(seed, a, b):
    check(seed, a, b)


@pytest.mark.parametrize("seed", range(60))
def test_known_programs_agree_with_python(seed):
    check(seed, 0.3, -0.7)


def gradients(function, seed, a, b):
    """Gradients of a program's results, weighted, with respect to its inputs and the variable."""
    v, inputs = tf.Variable(0.5), [tf.constant(a), tf.constant(b)]
    weights = np.random.default_rng(seed).normal(size=5).astype(np.float32)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        results = [*function(*inputs, v)[:4], v.value()]
        total = tf.add_n(
            [w * tf.convert_to_tensor(r) for w, r in zip(weights, results, strict=True)]
        )
    found = tape.gradient(total, [*inputs, v])
    return [0.0 if g is None else float(g) for g in found]


def check_gradients(seed, a, b):
    text = Writer(seed).text()
    plain = function_of(text)
    expected = gradients(plain, seed, a, b)
    found = gradients(tf.function(entry(plain)), seed, a, b)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4, err_msg=text)


@pytest.mark.parametrize("seed", range(1000, 1030))
def test_gradients_agree_with_python(seed):
    check_gradients(seed, 0.3, -0.7)
