"""Changes of what was there before a staged block.

What the statement shows is carried through the graph; what called functions do to Python objects
happens once, while tracing, as in TensorFlow. A tensor of the block that is kept there cannot be
used outside.
"""

from __future__ import annotations

import collections
import copy
import dataclasses

import numpy as np
import pytest

import tfx as tf
from tests.unit.autograph.counters import Counter

COUNT = 0
BOX = {"count": 0}


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class WithProperty:
    def __init__(self):
        self._x = tf.constant(0)
        self.reads = 0

    @property
    def x(self):
        return self._x

    @x.setter
    def x(self, value):
        self._x = value


@dataclasses.dataclass
class Pair:
    a: object
    b: object

    def change(self):
        self.a = self.a + 1


N = tf.constant(3)


# In the same function


def test_attribute_in_same_function():
    def f(n):
        c = Counter(tf.constant(0))
        while n > 0:
            c.count += n
            n -= 1
        return c.count

    assert int(tf.function(f)(N)) == 6


def test_python_attribute_becomes_a_tensor():
    def f(n):
        c = Counter()
        while n > 0:
            c.count += 1
            n -= 1
        return c.count

    assert int(tf.function(f)(N)) == 3


def test_slots_and_properties():
    def f(n):
        s, p = Slotted(tf.constant(1)), WithProperty()
        for i in tf.range(n):
            s.value *= 2
            p.x = p.x + i
        return s.value, p.x

    assert [int(x) for x in tf.function(f)(N)] == [8, 3]


def test_nested_attribute():
    def f(n):
        outer = Counter()
        outer.last = Counter(tf.constant(0))
        if n > 2:
            outer.last.count = outer.last.count + 5
        return outer.last.count

    assert int(tf.function(f)(N)) == 5


def test_module_attribute_and_variable():
    class M(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = tf.Variable(1.0)
            self.state = [tf.constant(0.0), tf.constant(1.0)]

        @tf.function
        def __call__(self, n):
            total = 0.0
            for i in tf.range(n):
                self.v.assign_add(tf.cast(i, tf.float32))
                total += self.v
            return total

    m = M()
    assert float(m(N)) == 1 + 2 + 4
    assert float(m.v) == 4


def test_global_in_same_function():
    def f(n):
        global COUNT
        COUNT = tf.constant(0)
        for i in tf.range(n):
            COUNT = COUNT + i
        result = COUNT
        COUNT = 0
        return result

    assert int(tf.function(f)(N)) == 3


def test_nonlocal_of_local_function():
    def f(n):
        total = tf.constant(0)

        def add(x):
            nonlocal total
            total = total + x

        for i in tf.range(n):
            add(i)
        return total

    assert int(tf.function(f)(N)) == 3


# In called functions


def change_global():
    global COUNT
    COUNT = COUNT + 1


def test_global_in_called_function():
    global COUNT

    def f(n):
        while n > 0:
            change_global()
            n -= 1
        return n + COUNT

    assert int(tf.function(f)(N)) == 1
    assert COUNT == 1
    COUNT = 0


def test_method():
    c = Counter()

    def f(n):
        while n > 0:
            c.change()
            n -= 1
        return n

    assert int(tf.function(f)(N)) == 0
    assert c.count == 1


def test_method_in_branch():
    c = Counter()

    def f(n):
        if n > 0:
            c.change()
        return n + c.count

    traced = tf.function(f)
    assert int(traced(N)) == 4
    assert int(traced(tf.constant(0))) == 1  # both branches were traced


def test_method_that_returns_the_object():
    def f(n):
        c = Counter(tf.constant(0))

        def changed(c):
            return Counter(c.count + 1)

        for _ in tf.range(n):
            value = changed(c).count
            c.count = value
        return c.count

    assert int(tf.function(f)(N)) == 3


def test_tensor_kept_in_called_method():
    c = Counter()

    def f(n):
        for i in tf.range(n):
            c.keep(i)
        return n

    assert int(tf.function(f)(N)) == 3
    with pytest.raises(tf.errors.InaccessibleTensorError, match=r"made in .* loop body"):
        tf.function(lambda n: n + c.last)(N)


def test_setattr_in_called_function():
    c = Counter()

    def put(c, name):
        setattr(c, name, 5)

    def f(n):
        for _ in tf.range(n):
            put(c, "count")
        return n + c.count

    assert int(tf.function(f)(N)) == 8


def test_same_value_may_be_stored():
    c = Counter(4)

    def f(n):
        for _ in tf.range(n):
            c.same()
        return n + c.count

    assert int(tf.function(f)(N)) == 7


def test_nonlocal_of_another_function():
    def make():
        count = 0

        def change():
            nonlocal count
            count += 1
            return count

        return change

    change = make()

    def f(n):
        for _ in tf.range(n):
            change()
        return n + change()

    assert int(tf.function(f)(N)) == 5

    def g(n):
        total = tf.constant(0)
        for _ in tf.range(n):
            own = make()
            own()
            total += own()
        return total

    assert int(tf.function(g)(N)) == 6


@pytest.mark.parametrize(
    "box, way",
    [
        ([], "append"),
        ({}, "setitem"),
        (set(), "add"),
        (collections.deque(), "append"),
        ({"a": 1}, "update"),
        ([3, 2], "sort"),
        (np.zeros(3), "setitem"),
        ([1], "iadd"),
    ],
)
def test_containers_in_called_functions(box, way):
    def change(box):
        if way == "setitem":
            box[0] = 1
        elif way == "update":
            box.update(b=1)
        elif way == "sort":
            box.sort()
        elif way == "iadd":
            box += [1]
        else:
            getattr(box, way)(1)

    def f(n):
        for _ in tf.range(n):
            change(box)
        return n

    expected = copy.deepcopy(box)
    change(expected)
    assert int(tf.function(f)(N)) == 3
    assert repr(box) == repr(expected)


def test_global_container_of_fixed_structure():
    def f(n):
        BOX["count"] = tf.constant(0)
        for i in tf.range(n):
            BOX["count"] += i
        result = BOX["count"]
        BOX["count"] = 0
        return result

    box = BOX
    assert int(tf.function(f)(N)) == 3
    assert box is BOX
    assert BOX == {"count": 0}


def test_objects_made_in_the_block_may_change():
    def helper(x):
        found = {}
        found["x"] = x
        c = Counter()
        c.change()
        c.add(x)
        c.items.append(x + 1)
        p = Pair(x, 1)
        p.change()
        lists = [[] for _ in range(2)]
        lists[0].append(x)
        text = "a b".split()  # noqa: SIM905
        text.append("c")
        array = np.zeros(2)
        array[0] = 3
        return found["x"] + c.count + len(c.items) + p.a + len(text) + int(array[0])

    def f(n):
        total = tf.constant(0)
        for i in tf.range(n):
            total += helper(i)
        return total

    assert int(tf.function(f)(N)) == sum(2 * i + 1 + 2 + 1 + 3 + 3 for i in range(3))


def test_object_local_to_the_block():
    def f(n):
        total = tf.constant(0)
        for i in tf.range(n):
            c = Counter(i)
            c.change()
            c.add(i)
            total += c.total() + len(c.items)
        return total

    assert int(tf.function(f)(N)) == 3 + 3 + 3


def test_object_made_in_outer_block():
    def f(n):
        total = tf.constant(0)
        for i in tf.range(n):
            c = Counter(0)
            if i > 1:
                c.change()
            total += c.count
        return total

    assert int(tf.function(f)(N)) == 3  # the branch is traced once


def test_lazily_built_module():
    class Dense(tf.Module):
        def __init__(self):
            super().__init__()
            self.built = False
            self.w = None

        def __call__(self, x):
            if not self.built:
                self.w = tf.Variable(2.0)
                self.built = True
            return self.w * x

    layer = Dense()

    def f(x):
        for _ in tf.range(3):
            x = layer(x)
        return x

    assert float(tf.function(f)(tf.constant(1.0))) == 8
    assert layer.built


def test_inner_function_is_its_own_business():
    c = Counter()

    @tf.function
    def inner(x):
        c.change()
        return x + 1

    def f(n):
        for _ in tf.range(3):
            n = inner(n)
        return n

    assert int(tf.function(f)(N)) == 6


def test_tensor_array_result_must_be_assigned():
    def f(n):
        ta = tf.TensorArray(tf.int32, size=0, dynamic_size=True)

        def change(ta, i):
            return ta.write(i, i)

        for i in tf.range(n):
            ta = change(ta, i)
        return ta.stack()

    np.testing.assert_array_equal(tf.function(f)(N), [0, 1, 2])


def test_variable_in_called_function():
    v = tf.Variable(0)

    def change():
        v.assign_add(2)

    def f(n):
        while n > 0:
            change()
            n -= 1
        return v.value()

    assert int(tf.function(f)(N)) == 6
