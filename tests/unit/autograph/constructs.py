"""Functions of a scalar ``x`` and a vector ``v``: each uses a construct of Python on tensors.

Called eagerly they are plain Python; traced, they must give the same.
"""

from __future__ import annotations

import functools

import tfx as tf

FOUND = []


def case(function):
    FOUND.append(function)
    return function


@case
def if_elif_else(x, v):
    if x > 2.0:
        y = x
    elif x > 0.0:
        y = x * 10.0
    else:
        y = -x
    return y


@case
def if_without_else(x, v):
    y = x
    if x > 1.0:
        y = y * 2.0
        y += 1.0
    return y


@case
def ternaries(x, v):
    return (x if x > 0.0 else -x) + (1.0 if x > 5.0 else 2.0 if x > 1.0 else 3.0)


@case
def boolean_operators(x, v):
    a = x > 0.0 and x < 5.0
    b = x < -1.0 or x > 2.0
    return a, b, not a, not (a and b) or x > 3.0


@case
def operands_are_left_out(x, v):
    def never():
        raise AssertionError("called")

    return (x is None and never()) or ((x is not None or never()) and x)


@case
def chained_comparisons(x, v):
    return 0.0 < x < 2.0, -1.0 <= x <= 1.0 < x + 3.0, 0.0 < x != 3.0


@case
def while_loop(x, v):
    n = 0
    while x < 20.0:
        x = x * x + 1.0
        n += 1
    return x, n


@case
def while_with_python_condition(x, v):
    n = 0
    while n < 3:
        x = x + 1.0
        n += 1
    return x, n


@case
def while_true(x, v):
    while True:
        x = x + 1.5
        if x > 10.0:
            break
    return x


@case
def while_else(x, v):
    n = 0
    while n < tf.cast(x, tf.int32):
        n += 1
        if n > 2:
            break
    else:
        x = x + 100.0
    return x, n


@case
def for_over_a_vector(x, v):
    total = x
    for element in v:
        total += element * x
    return total


@case
def for_over_a_range_tensor(x, v):
    total = 0
    for i in tf.range(tf.cast(x, tf.int32)):
        total += i
    return total


@case
def for_over_python_range_of_a_tensor(x, v):
    total = 0
    for i in range(1, tf.cast(x, tf.int32), 2):
        total += i
    return total


@case
def for_over_a_list(x, v):
    total = x
    for factor in [1.0, 2.0, 3.0]:
        if total > factor:
            total -= factor
    return total


@case
def for_over_a_dict(x, v):
    parts = {"a": x, "b": v[0]}
    total = x
    for name, part in parts.items():
        if part > 0.0:
            total += part * len(name)
    return total


@case
def for_enumerate(x, v):
    total = x
    for i, element in enumerate(v):
        total += tf.cast(i, tf.float32) * element
    for i, element in enumerate([x, x]):
        total += i * element
    return total


@case
def for_zip(x, v):
    total = x
    for a, b in zip(v, v * x, strict=True):
        total += a * b
    for a, b in zip([1.0, 2.0], [x, x, x], strict=False):
        total += a * b
    return total


@case
def for_over_a_generator(x, v):
    def items():
        yield 1.0
        yield x
        yield 3.0

    for item in items():
        if x > item:
            x += item
    return x


@case
def for_over_an_iterator(x, v):
    rest = iter([1.0, 2.0, 3.0])
    for item in rest:
        x += item
        if item > 1.5:
            break
    return x, next(rest)


@case
def for_unpacking(x, v):
    total = x
    for a, (b, *c) in [(1.0, (x, 2.0, 3.0)), (2.0, (x, 4.0))]:
        total += a * b + sum(c)
    return total


@case
def for_break(x, v):
    total = 0.0
    for element in v:
        if element > x:
            break
        total += element
    return total


@case
def for_continue(x, v):
    total = 0.0
    for element in v:
        if element > x:
            continue
        total += element
    return total


@case
def for_else(x, v):
    found = x
    for element in v:
        if element > x:
            found = element
            break
    else:
        found = tf.constant(-1.0)
    return found


@case
def python_for_with_tensor_break(x, v):
    for i in range(5):
        x += i
        if x > 3.0:
            break
    return x, i


@case
def nested_loops_with_jumps(x, v):
    count = 0
    for a in v:
        for b in v:
            if b > a:
                continue
            if a + b > x:
                break
            count += 1
        else:
            count += 10
    return count


@case
def return_in_one_branch(x, v):
    if x > 1.0:
        return x * 2.0
    x = x - 5.0
    return x


@case
def return_in_a_loop(x, v):
    for element in v:
        if element > x:
            return element
    return x


@case
def return_in_nested_loops(x, v):
    while x < 50.0:
        for element in v:
            x += element
            if x > 10.0:
                return x * 2.0
        x += 1.0
    return -x


@case
def return_of_a_structure(x, v):
    if x > 1.0:
        return {"a": (x, v), "b": [x]}
    return {"a": (x + 1.0, v * 2.0), "b": [-x]}


@case
def asserts(x, v):
    assert x < 1e6, "too large"
    assert len(v) == 3
    return x


@case
def contains(x, v):
    return x in v, x not in v, 3 in [1, 2, 3], "a" not in {"a": 1}


@case
def lengths(x, v):
    return len(v), len(tf.boolean_mask(v, v > x)), len([1, 2])


@case
def conversions(x, v):
    return int(x), float(int(x)), bool(x > 1.0), abs(x), abs(-v), int("3"), float(2)


@case
def extremes(x, v):
    return (
        max(x, 1.0),
        min(x, 1.0),
        max(v),
        min(v),
        max([1, 2], key=lambda q: -q),
        max(x, 0.5, x + 1.0),
    )


@case
def sums(x, v):
    return sum(v), sum([x, x, 1.0]), sum([1, 2], 3), any(v > x), all(v > x), any([x > 1.0, x > 9.0])


@case
def sorting(x, v):
    ordered = tf.stack(sorted(v * x)), tf.stack(sorted(v, reverse=True))
    return ordered, sorted([3, 1, 2], key=lambda q: -q)


@case
def mapping(x, v):
    def double(q):
        if q > 1.0:
            return q * 2.0
        return q

    return list(map(double, [x, x + 1.0])), [double(q) for q in (x, -x)]


@case
def filtering(x, v):
    return list(filter(lambda q: q > 1, [1, 2, 3])), functools.reduce(lambda a, b: a + b, [x, x, x])
