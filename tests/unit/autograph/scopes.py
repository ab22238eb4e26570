"""More of what constructs.py has: functions in functions, scopes, blocks, classes, calls."""

from __future__ import annotations

import contextlib
import functools

import tfx as tf

FOUND = []


def case(function):
    FOUND.append(function)
    return function


@case
def lambdas(x, v):
    f = lambda q, w=2.0: q * w if q > 1.0 else q  # noqa: E731
    return f(x), f(x, w=3.0)


@case
def closures(x, v):
    def scaled(q):
        if q > x:
            return q * x
        return q

    return scaled(v[0]), scaled(v[2])


@case
def nonlocals(x, v):
    count = 0.0

    def add(q):
        nonlocal count
        count = count + q

    for i in range(3):
        add(i * 1.0)
    add(2.0)
    return count, x


@case
def walrus(x, v):
    if (y := x * 2.0) > 3.0:
        y = y + 1.0
    return y


@case
def with_blocks(x, v):
    with tf.name_scope("inside"):
        if x > 1.0:
            return x
        x = x + 1.0
    return -x


@case
def with_python_managers(x, v):
    with contextlib.suppress(ZeroDivisionError):
        if x > 1.0:
            x = x * 2.0
        x = x / (1 // 0)
    return x


@case
def try_finally(x, v):
    notes = []
    try:
        if x > 1.0:
            return x * 2.0
        x = -x
    finally:
        notes.append(1)
    return x


@case
def try_except(x, v):
    try:
        if x > 1.0:
            x = x * 3.0
        raise KeyError("k")
    except KeyError as e:
        if x > 2.0:
            x += len(e.args)
    else:
        x = x * 0.0
    return x


@case
def matching(x, v):
    match v.shape.as_list():
        case [n] if n > 2:
            if x > 1.0:
                return x * n
            return x
        case [a, b]:
            return x * a * b
        case _:
            return x * 0.0


@case
def deleting(x, v):
    y = x
    if x > 1.0:
        z = x * 2.0
        y = z
        del z
    del v
    return y


@case
def augmented_items(x, v):
    parts = [x, x]
    table = {"k": x}
    if x > 1.0:
        parts[0] += 1.0
        table["k"] *= 2.0
    return parts, table


@case
def augmented_attributes(x, v):
    class Box:
        pass

    box = Box()
    box.value = x
    while box.value < 9.0:
        box.value += 2.0
    return box.value


@case
def classes_inside(x, v):
    class Scale:
        factor = 2.0

        def __init__(self, by):
            self.by = by

        def __call__(self, q):
            if q > 1.0:
                return q * self.by * self.factor
            return q

    return Scale(3.0)(x)


@case
def formatted(x, v):
    text = f"{v.shape} {2 if len(v) == 3 else 4:>3}"
    return x * len(text)


@case
def debug_flag(x, v):
    if __debug__ and x > 1.0:
        x = x + 1.0
    return x


@case
def star_arguments(x, v):
    def f(a, *rest, scale=1.0, **more):
        if a > 1.0:
            return a * scale + sum(rest) + more["k"]
        return a

    args, kwargs = (x, 1.0), {"scale": 2.0, "k": 3.0}
    return f(*args, 2.0, **kwargs), f(x, k=1.0)


def factorial(n, x):
    if n == 0:
        return x
    if x > 1e5:
        return x
    return factorial(n - 1, x * n)


@case
def recursion(x, v):
    return factorial(5, x)


@case
def partials(x, v):
    return functools.partial(factorial, 3)(x), functools.partial(factorial, x=x)(2)


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        if result > 3.0:
            return result * 2.0
        return result

    return wrapper


@doubled
def decorated_helper(q):
    if q > 0.0:
        return q
    return -q


@case
def decorators(x, v):
    return decorated_helper(x)


class Base:
    def __init__(self, start):
        if start > 1.0:
            self.start = start
        else:
            self.start = start * 0.5
        self.__hidden = start

    def shifted(self, q):
        if q > self.start:
            return q + 1.0
        return q - 1.0

    @property
    def positive(self):
        if self.start > 0.0:
            return self.start
        return -self.start

    @classmethod
    def made(cls, q):
        if q < 1.0:
            q = q + 1.0
        return cls(q)

    @staticmethod
    def halved(q):
        while q > 1.0:
            q = q / 2.0
        return q

    def hidden(self):
        if self.__hidden > 1.0:
            return self.__hidden
        return self.__private()

    def __private(self):
        return self.start * 7.0


class Derived(Base):
    def shifted(self, q):
        if q > 2.0:
            return super().shifted(q) * 2.0
        return super().shifted(q)


@case
def methods(x, v):
    box = Derived(x)
    return box.shifted(x), box.positive, Base.made(x).start, Derived.halved(x), box.hidden()


@case
def nested_functions_of_tf(x, v):
    @tf.function
    def inner(q):
        if q > 1.0:
            return q * 2.0
        return q

    return inner(x) + inner(-x)


def positive_part(q):
    if q > 0.0:
        return q
    return q * 0.0


def step(total, q):
    if q > 1.5:
        return total + q
    return total


@case
def functions_of_functions(x, v):
    return (
        tf.cond(x > 0.0, lambda: positive_part(x), lambda: x),
        tf.map_fn(positive_part, v - x),
        tf.scan(step, v, initializer=x),
        tf.foldl(step, v, initializer=x),
        tf.nest.map_structure(positive_part, [x, -x]),
        tf.while_loop(lambda i: i < 5.0, lambda i: [step(i, 2.0)], [x * 0.0])[0],
        tf.recompute_grad(positive_part)(x),
    )


@case
def gradients(x, v):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for element in v:
            if element > x:
                y = y * element
    return tape.gradient(y, x)


@case
def fibonacci(x, v):
    a, b = 0, 1
    while b < tf.cast(x * 10.0, tf.int32):
        a, b = b, a + b
    return a, b


@case
def comprehensions(x, v):
    parts = [q * x for q in (1.0, 2.0) if q > 1.5]
    table = {k: x + k for k in (1.0, 2.0)}
    return parts, sum(q for q in parts), table[2.0], tuple(q for q in parts)
