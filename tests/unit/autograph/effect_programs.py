"""Programs that change Python objects while branches and loops are traced.

Functions of an int32 scalar ``n``, a float scalar ``x`` and a vector ``v``, each with what
TensorFlow 2.21 gives for ``n`` = 3 and ``n`` = 0, ``x`` = 2 and ``v`` = [1, 2, 3]: what a block does to
Python objects happens once, while it is traced, and both branches of an ``if`` are traced.
"""

# ruff: noqa
from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools
import heapq
import itertools
import types

import tfx as tf

FOUND = []
LOG = []


def case(*expected):
    def keep(function):
        FOUND.append((function, expected))
        return function

    return keep


@case(16.0, 2.0)
def kw_pop_in_loop(n, x, v):
    def g(a, **kw):
        k = kw.pop("k", 1.0)
        return a * k

    for _ in tf.range(n):
        x = g(x, k=2.0)
    return x


@case(8.0, 2.0)
def kw_update_in_branch(n, x, v):
    def g(**kw):
        kw.update(b=2.0)
        kw["c"] = 3.0
        kw.setdefault("d", 1.0)
        del kw["a"]
        return sum(kw.values())

    if n > 1:
        x = x + g(a=1.0)
    return x


@case(32.0, 2.0)
def args_list_in_loop(n, x, v):
    def g(*a):
        l = list(a)
        l.reverse()
        l.append(1.0)
        l.sort()
        l.insert(0, 5.0)
        l.extend([1.0])
        return sum(l)

    while n > 0:
        x += g(1.0, 2.0)
        n -= 1
    return x


@case([3.0, 1], [2.0, 1])
def names_append(n, x, v):
    names = []
    if n > 1:
        names.append("x")
        x = x + 1.0
    return x, len(names)


@case([2.0, 3, "x,y,z"], [2.0, 3, "x,y,z"])
def names_append_else(n, x, v):
    names = []
    if n > 1:
        names.append("x")
    else:
        names.append("y")
        names.append("z")
    return x, len(names), ",".join(names)


@case([5.0, 1], [2.0, 1])
def ints_append_loop(n, x, v):
    l = []
    for i in tf.range(n):
        l.append(1)
        x += 1.0
    return x, len(l)


@case([2.0, 2, "ab"], [2.0, 2, "ab"])
def str_append_loop(n, x, v):
    l = ["a"]
    for i in tf.range(n):
        l.append("b")
    return x, len(l), "".join(l)


@case([2.0, 1], [2.0, 1])
def none_append_loop(n, x, v):
    l = []
    for i in tf.range(n):
        l.append(None)
    return x, len(l)


@case([2.0, 2], [2.0, 2])
def obj_append_loop(n, x, v):
    l = []
    for i in tf.range(n):
        l.append(object())
        l.append(print)
    return x, len(l)


@case(5.0, 2.0)
def append_to_global(n, x, v):
    for i in tf.range(n):
        LOG.append("trace")
        x = x + 1.0
    return x


@case(2.0, 2.0)
def append_to_global_in_if(n, x, v):
    if n > 1:
        LOG.append("then")
    else:
        LOG.append("else")
    return x


@case([2.0, 1], [2.0, 1])
def append_tensor_global(n, x, v):
    for i in tf.range(n):
        LOG.append(i)
    r = len(LOG)
    LOG.clear()
    return x, r


@case(5.0, 2.0)
def append_name_loop(n, x, v):
    l = []
    for i in tf.range(n):
        l.append(str(x.dtype.name))
        x = x + len(l)
    return x


@case(5.0, 5.0)
def extend_local(n, x, v):
    l = [1]
    if n > 0:
        l.extend([2, 3])
    return x + len(l)


@case(9.0, 9.0)
def insert_local(n, x, v):
    l = [1]
    if n > 0:
        l.insert(0, 7)
    return x + l[0]


@case(5.0, 5.0)
def iadd_list(n, x, v):
    l = [1]
    if n > 0:
        l += [2, 3]
    return x + len(l)


@case([5.0, 2], [2.0, 2])
def pop_plain(n, x, v):
    l = [1, 2, 3]
    if n > 0:
        y = l.pop()
        x = x + y
    return x, len(l)


@case([3.0, ["b"]], [2.0, ["b"]])
def pop_plain_dict(n, x, v):
    d = {"a": 1, "b": 2}
    if n > 0:
        x = x + d.pop("a")
    return x, sorted(d)


@case([2.0, ["b"]], [2.0, ["b"]])
def pop_stmt_dict(n, x, v):
    d = {"a": 1, "b": 2}
    for _ in tf.range(n):
        d.pop("a", None)
    return x, sorted(d)


@case(4.0, 4.0)
def set_add(n, x, v):
    s = set()
    for i in tf.range(n):
        s.add("a")
        s.add(1)
    return x + len(s)


@case(4.0, 4.0)
def defaultdict_global(n, x, v):
    d = collections.defaultdict(int)

    def hit(k):
        d[k] += 1

    if n > 1:
        hit("a")
    else:
        hit("b")
    return x + len(d)


@case([5.0, 1], [2.0, 1])
def object_counter(n, x, v):
    class C:
        def __init__(self):
            self.n = 0

        def hit(self):
            self.n += 1

    c = C()
    for i in tf.range(n):
        c.hit()
        x = x + c.n
    return x, c.n


@case([2.0, 3], [2.0, 0])
def object_attr_inline(n, x, v):
    class C:
        pass

    c = C()
    c.n = 0
    for i in tf.range(n):
        c.n += 1
    return x, c.n


@case(3.0, 2.0)
def object_attr_python_only(n, x, v):
    class C:
        pass

    c = C()
    c.name = "a"
    if n > 0:
        c.name = "b"
        x += 1.0
    return x


@case([11.0, 2], [2.0, 2])
def cache_in_method(n, x, v):
    class C:
        def __init__(self):
            self._cache = {}
            self.k = None

        def get(self, key):
            if key not in self._cache:
                self._cache[key] = len(self._cache) + 1
            self.k = key
            return self._cache[key]

    c = C()
    while n > 0:
        x = x + c.get("a") + c.get("b")
        n -= 1
    return x, len(c._cache)


@case(5.0, 2.0)
def tensor_kept_unused(n, x, v):
    class C:
        last = None

        def keep(self, t):
            self.last = t

    c = C()
    for i in tf.range(n):
        c.keep(i)
        x = x + 1.0
    return x


@case(54.0, 2.0)
def tensor_in_list_of_body(n, x, v):
    for i in tf.range(n):
        l = []
        for j in range(3):
            l.append(x * j)
        x = tf.add_n(l)
    return x


@case(3.0, 3.0)
def global_counter(n, x, v):
    global _G
    _G = 0

    def hit():
        global _G
        _G += 1

    for i in tf.range(n):
        hit()
    return x + _G


@case(3.0, 3.0)
def nonlocal_counter(n, x, v):
    c = 0

    def hit():
        nonlocal c
        c += 1

    for i in tf.range(n):
        hit()
    return x + float(c) if isinstance(c, int) else x + tf.cast(c, tf.float32)


@case([17.0, 6], [2.0, 6])
def next_counter(n, x, v):
    it = itertools.count(5)
    for i in tf.range(n):
        x = x + next(it)
    return x, next(it)


@case(5.0, 4.0)
def gen_consumed(n, x, v):
    it = iter([1.0, 2.0, 3.0])
    if n > 0:
        x += next(it)
    x += next(it)
    return x


@case(170.0, 2.0)
def comps(n, x, v):
    for i in tf.range(n):
        l = [x * k for k in range(3)]
        d = {k: x * k for k in range(2)}
        s = {k for k in range(2)}
        g = sum(x * k for k in range(3) if k != 1)
        x = l[1] + d[1] + len(s) + g
    return x


@case(8.0, 2.0)
def comp_nested(n, x, v):
    if n > 1:
        x = tf.add_n([a * b for a in [x, 1.0 * x] for b in (1.0, 2.0) if b > 1.0])
    return x


@case(6.0, 6.0)
def comp_over_tensor_static(n, x, v):
    return sum([t for t in tf.unstack(v)])


@case([5.0, 1], [2.0, 1])
def try_finally(n, x, v):
    log = []
    for i in tf.range(n):
        try:
            x = x + 1.0
        finally:
            log.append("f")
    return x, len(log)


@case(3.0, 2.0)
def try_except_in_branch(n, x, v):
    if n > 0:
        try:
            raise KeyError("a")
        except KeyError as e:
            x = x + len(e.args)
        else:
            x = x - 1.0
    return x


@case(5.0, 2.0)
def del_local(n, x, v):
    for i in tf.range(n):
        t = x + 1.0
        x = t
        del t
    return x


@case(7.0, 2.0)
def nested_fn(n, x, v):
    def outer(a):
        def inner(b):
            if b > 2.0:
                return b
            return b * 2.0

        return inner(a) + 1.0

    for i in tf.range(n):
        x = outer(x)
    return x


@case(11.0, 2.0)
def lambdas(n, x, v):
    fs = [lambda a, k=k: a + k for k in range(3)]
    for i in tf.range(n):
        for f in fs:
            x = f(x)
        x = (lambda q: q if q > 3.0 else q * 2.0)(x)
    return x


@case(65.0, 2.0)
def star_args(n, x, v):
    def g(*a, s=1.0, **k):
        return sum(a) * s + k.get("z", 0.0)

    while n > 0:
        a, *r = (x, 1.0, 2.0)
        x = g(a, *r, **{"s": 2.0, "z": 1.0})
        n -= 1
    return x


@case(8.0, 2.0)
def dataclass_in_loop(n, x, v):
    @dataclasses.dataclass
    class P:
        a: object
        b: object = 1.0

        def step(self):
            self.a = self.a + self.b
            return self

    for i in tf.range(n):
        p = P(x).step().step()
        x = p.a
    return x


@case(20.0, 2.0)
def recursion(n, x, v):
    def fact(k):
        return 1 if k <= 1 else k * fact(k - 1)

    for i in tf.range(n):
        x = x + fact(3)
    return x


@case([5.0, 1], [2.0, 1])
def decorated(n, x, v):
    calls = []

    def deco(f):
        @functools.wraps(f)
        def w(*a, **k):
            calls.append(f.__name__)
            return f(*a, **k)

        return w

    @deco
    def g(a):
        if a > 3.0:
            return a - 1.0
        return a + 2.0

    for i in tf.range(n):
        x = g(x)
    return x, len(calls)


@case(32.0, 2.0)
def lru_cached(n, x, v):
    @functools.lru_cache(None)
    def g(k):
        return k * 2.0

    while n > 0:
        x = x + g(2) + g(3)
        n -= 1
    return x


@case(6.0, 2.0)
def continue_loop(n, x, v):
    for i in tf.range(n):
        if i == 1:
            continue
        x += tf.cast(i, tf.float32) + 1.0
    return x


@case(13.0, 2.0)
def range_t(n, x, v):
    for i in range(n):
        x += 1.0
    for i in range(1, n):
        x += 1.0
    for i in range(n, 0, -1):
        x += tf.cast(i, tf.float32)
    return x


@case(17.0, 2.0)
def slices(n, x, v):
    l = [1, 2, 3, 4]
    for i in tf.range(n):
        y = v[1:][::-1]
        x += y[0] + l[1:][0]
    return x


@case(5.0, 5.0)
def slice_assign(n, x, v):
    l = [1, 2, 3, 4]
    if n > 0:
        l[1:3] = [9]
    return x + len(l)


@case(0.0, 2.0)
def aug_all(n, x, v):
    k = n
    while k > 0:
        x += 1.0
        x *= 2.0
        x -= 0.5
        x /= 2.0
        x **= 2.0
        x //= 2.0
        x %= 7.0
        k -= 1
    return x


@case(13.0, 3.0)
def item_assign_fixed(n, x, v):
    l = [x, 1.0]
    for i in tf.range(n):
        l[0] = l[0] + 1.0
        l[1] = l[1] * 2.0
    return l[0] + l[1]


@case(5.0, 2.0)
def item_aug_int(n, x, v):
    l = [0]
    for i in tf.range(n):
        l[0] += 1
    return x + tf.cast(l[0], tf.float32)


@case(8.0, 2.0)
def dict_aug(n, x, v):
    d = {"a": 0.0}
    while n > 0:
        d["a"] += 2.0
        n -= 1
    return x + d["a"]


@case(10.0, 4.0)
def dict_loop_keys(n, x, v):
    d = {"a": x, "b": x}
    for i in tf.range(n):
        d = {k: t + 1.0 for k, t in d.items()}
    return d["a"] + d["b"]


@case([3.0, True], [3.0, False])
def chained(n, x, v):
    if 0 < n < 5 and 1.0 < x <= 2.0 or not n == 3:
        x += 1.0
    return x, 0 < n <= 3 != 7


@case(7.0, 7.0)
def and_or_values(n, x, v):
    y = None or 5.0
    z = n > 1 and x > 1.0
    w = not z
    if z or w:
        x += y
    return x


@case(5.0, 2.0)
def prints(n, x, v):
    for i in tf.range(n):
        LOG.append(f"{x.shape}")
        x += 1.0
    return x


@case(6.0, 2.0)
def ternary(n, x, v):
    for i in tf.range(n):
        x = x + (1.0 if i > 0 else 2.0) + (0.0 if True else 1.0)
    return x


@case(5.0, 2.0)
def fstrings(n, x, v):
    names = []
    for i in tf.range(n):
        name = f"l{len(names)}"
        names.append(name)
        x = tf.identity(x + 1.0, name=name)
    return x


@case(3.0, 2.0)
def undefined_unused(n, x, v):
    if n > 1:
        y = x
        x = y + 1.0
    return x


@case([1.0, 1.0, 1.0], [])
def shape_change_opts(n, x, v):
    r = tf.zeros([0])
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(r, tf.TensorShape([None]))])
        r = tf.concat([r, [1.0]], 0)
    return r


@case(2.0, 2.0)
def none_both(n, x, v):
    if n > 0:
        y = None
    else:
        y = None
    return x


@case(4.0, 2.0)
def none_unused(n, x, v):
    y = None
    if n > 0:
        y = x
        x = y * 2.0
    return x


@case(5.0, 2.0)
def none_in_loop_stays(n, x, v):
    y = None
    for i in tf.range(n):
        if y is None:
            x += 1.0
    return x


@case(3.0, 2.0)
def str_one(n, x, v):
    name = "a"
    if n > 0:
        name = "b"
        x += 1.0
    return x


@case(3.0, 2.0)
def obj_rebound_unused(n, x, v):
    class A:
        pass

    o = A()
    if n > 0:
        o = A()
        x += 1.0
    return x


@case(12.0, 2.0)
def bool_flag(n, x, v):
    first = True
    for i in tf.range(n):
        if first:
            x += 10.0
        first = False
    return x


@case(32.0, 2.0)
def bool_flag_method(n, x, v):
    st = {"first": True}

    def step(x):
        if st["first"]:
            st["first"] = False
            return x + 10.0
        return x + 1.0

    for i in tf.range(n):
        x = step(x)
    return x


@case([54.0, 1], [2.0, 1])
def lazily_built(n, x, v):
    class L:
        built = False

        def __call__(self, a):
            if not self.built:
                self.w = 3.0
                self.names = ["w"]
                self.built = True
            self.calls = getattr(self, "calls", 0) + 1
            return a * self.w

    l = L()
    for i in tf.range(n):
        x = l(x)
    return x, l.calls


@case([4.0, [9, 1]], [2.0, [9, 1]])
def arg_mutation(n, x, v):
    def g(l):
        l.append(1)
        l[0] = 9
        del l[1]
        return len(l)

    a = [1, 2]
    if n > 0:
        x += g(a)
    return x, a


@case(17.0, 2.0)
def np_inside(n, x, v):
    import numpy as np

    for i in tf.range(n):
        a = np.zeros(3)
        a[1] = 2.0
        a += 1
        a.sort()
        x += float(a.sum())
    return x


@case(5.0, 2.0)
def str_join(n, x, v):
    parts = []
    if n > 0:
        for p in ("a", "b"):
            parts.append(p)
        x += len("/".join(parts))
    return x


@case(5.0, 4.0)
def list_of_tensors_before(n, x, v):
    l = [x, x]
    if n > 0:
        l[0] = x + 1.0
    return l[0] + l[1]


@case(5.0, 2.0)
def list_append_tensors_if(n, x, v):
    l = [x]
    if n > 0:
        l.append(x + 1.0)
        x = tf.add_n(l)
    return x


@case([2.0, 1], [2.0, 1])
def both_append_outer_tensor(n, x, v):
    l = []
    y = x + 1.0
    if n > 0:
        l.append(x)
    return l[0], len(l)


@case([2.0, 2], [3.0, 2])
def tf_cond_append(n, x, v):
    l = []

    def t():
        l.append("t")
        return x

    def e():
        l.append("e")
        return x + 1.0

    y = tf.cond(n > 0, t, e)
    return y, len(l)


@case([5.0, 1], [2.0, 1])
def tf_while_append(n, x, v):
    l = []

    def b(i, a):
        l.append("t")
        return i + 1, a + 1.0

    i, y = tf.while_loop(lambda i, a: i < n, b, [0, x])
    return y, len(l)


@case([9.0, 1], [9.0, 1])
def map_fn_append(n, x, v):
    l = []

    def b(a):
        l.append("t")
        return a + 1.0

    y = tf.map_fn(b, v)
    return tf.reduce_sum(y), len(l)


@case([20.0, 2], [2.0, 2])
def variable_in_obj(n, x, v):
    class M:
        calls = 0

    m = M()

    def g(a):
        m.calls += 1
        return a * 2.0

    for i in tf.range(n):
        if i > 0:
            x = g(x)
        else:
            x = g(x) + 1.0
    return x, m.calls


@case([14.0, 4.0], [2.0, 4.0])
def setattr_getattr(n, x, v):
    class A:
        pass

    a = A()
    for i in tf.range(n):
        setattr(a, "k", 4.0)
        x += getattr(a, "k")
    return x, a.k


@case(3.0, 3.0)
def dict_of_lists(n, x, v):
    d = {"a": []}
    for i in tf.range(n):
        d["a"].append("q")
    return x + len(d["a"])


@case(3.0, 3.0)
def obj_list_append(n, x, v):
    class A:
        def __init__(self):
            self.l = []

    a = A()
    for i in tf.range(n):
        a.l.append("q")
    return x + len(a.l)


@case(2.0, 2.0)
def list_clear(n, x, v):
    l = [1, 2]
    if n > 0:
        l.clear()
    return x + len(l)


@case(5.0, 5.0)
def list_sort_rev(n, x, v):
    l = [3, 1, 2]
    if n > 0:
        l.sort()
        l.reverse()
    return x + l[0]


@case(4.0, 4.0)
def list_remove(n, x, v):
    l = [3, 1, 2]
    for i in tf.range(n):
        if 3 in l:
            l.remove(3)
    return x + len(l)


@case(8.0, 2.0)
def swap(n, x, v):
    a, b = x, x + 1.0
    for i in tf.range(n):
        a, b = b, a + b
    return a


@case(11.0, 2.0)
def star_target(n, x, v):
    for i in tf.range(n):
        a, *b = [x, 1.0, 2.0]
        x = a + sum(b)
    return x


@case(2.0, 2.0)
def tuple_grow(n, x, v):
    t = ()
    if n > 0:
        t = t + ("a",)
    return x


@case(7.0, 4.0)
def namedtuple_loop(n, x, v):
    P = collections.namedtuple("P", "a b")
    p = P(x, x)
    for i in tf.range(n):
        p = p._replace(a=p.a + 1.0)
    return p.a + p.b


@case([8.0, 1], [2.0, 1])
def deepcopy_loop(n, x, v):
    d = {"a": [1]}
    for i in tf.range(n):
        e = copy.deepcopy(d)
        e["a"].append(2)
        x += len(e["a"])
    return x, len(d["a"])


@case([2.0, 3, 1], [2.0, 3, 1])
def property_set(n, x, v):
    class A:
        def __init__(self):
            self._p = 0
            self.log = []

        @property
        def p(self):
            return self._p

        @p.setter
        def p(self, q):
            self._p = q
            self.log.append(q)

    a = A()

    def go():
        a.p = 3

    for i in tf.range(n):
        go()
    return x, a.p, len(a.log)


@case(5.0, 2.0)
def isinstance_hasattr(n, x, v):
    for i in tf.range(n):
        if isinstance(x, tf.Tensor) and hasattr(x, "shape") and not callable(x):
            x += 1.0
    return x


@case(8.0, 2.0)
def super_call(n, x, v):
    class A:
        def go(self, a):
            return a + 1.0

    class B(A):
        def go(self, a):
            if a > 3.0:
                return super().go(a)
            return super().go(a) * 2.0

    b = B()
    for i in tf.range(n):
        x = b.go(x)
    return x


@case([5.0, 1], [2.0, 1])
def closures_in_list(n, x, v):
    fs = []
    for i in tf.range(n):
        fs.append(lambda a: a + 1.0)
        x = fs[0](x)
    return x, len(fs)


@case([5.0, 2], [2.0, 0])
def loop_target_after(n, x, v):
    for i in tf.range(n):
        x += 1.0
    return x, i


@case(8.0, 8.0)
def if_in_py_loop(n, x, v):
    l = []
    for k in range(3):
        if n > k:
            l.append("a")
        x += len(l)
    return x


@case([3, 2.0], [0, 2.0])
def int_float_bool(n, x, v):
    c = 0
    for i in tf.range(n):
        c += 1
    return c, x


@case([3.0, 2], [4.0, 2])
def global_dict(n, x, v):
    STATE = {}

    def register(name):
        STATE[name] = STATE.get(name, 0) + 1
        return STATE[name]

    if n > 0:
        x += register("a")
    else:
        x += register("a")
    return x, STATE["a"]


@case(14.0, 2.0)
def map_filter(n, x, v):
    for i in tf.range(n):
        x += sum(map(lambda k: k * 2.0, filter(lambda k: k > 1, [1, 2])))
    return x


@case(11.0, 2.0)
def sorted_key(n, x, v):
    for i in tf.range(n):
        x += sorted([3, 1], key=lambda k: -k)[0]
    return x


@case([5.0, 0], [2.0, 0])
def dict_iter_pop(n, x, v):
    d = {"a": 1.0, "b": 2.0}
    if n > 0:
        for k in list(d):
            x += d.pop(k)
    return x, len(d)


@case([8.0, 1], [2.0, 1])
def stack_pop_append(n, x, v):
    st = ["r"]
    while n > 0:
        st.append("c")
        x += len(st)
        st.pop()
        n -= 1
    return x, len(st)


@case(8.0, 2.0)
def exc_suppress(n, x, v):
    for i in tf.range(n):
        with contextlib.suppress(KeyError):
            x += 1.0
            {}["a"]
        x += 1.0
    return x


@case([3.0, "abc"], [2.0, "abc"])
def nested_ifs_append(n, x, v):
    l = []
    if n > 0:
        l.append("a")
        if n > 1:
            l.append("b")
            x += 1.0
        else:
            l.append("c")
    return x, "".join(l)


@case(3.0, 3.0)
def attr_list_iadd(n, x, v):
    class A:
        pass

    a = A()
    a.l = []
    if n > 0:
        a.l += ["q"]
    return x + len(a.l)


@case({"a": 5.0, "b": [5.0, [5.0, 4.0]]}, {"a": 2.0, "b": [2.0, [2.0, 1.0]]})
def tf_nest(n, x, v):
    s = {"a": x, "b": [x, (x, 1.0)]}
    for i in tf.range(n):
        s = tf.nest.map_structure(lambda t: t + 1.0, s)
        tf.nest.assert_same_structure(s, s)
        LOG.append(len(tf.nest.flatten(s)))
    return s


@case([5.0, 7], [2.0, 5])
def target_range(n, x, v):
    for i in tf.range(5, 5 + n):
        x += 1.0
    return x, i


@case([5.0, 2], [2.0, 7])
def target_before(n, x, v):
    i = 7
    for i in tf.range(n):
        x += 1.0
    return x, i


@case([4.0, 2, 2], [2.0, 2, 2])
def py_and_tensor_append(n, x, v):
    names, vals = [], []
    for j in range(2):
        names.append(f"v{j}")
        if n > j:
            vals.append(x)
            x = x + 1.0
    return x, len(names), len(vals)


@case({"a": 2.0, "b": 4.0}, {"a": 2.0, "b": 2.0})
def losses_dict(n, x, v):
    losses = {}

    def add(name, val):
        losses[name] = val

    add("a", x)
    if n > 0:
        x = x + losses["a"]
    add("b", x)
    return losses


@case([4.0, 1], [2.0, 1])
def metrics_list_outer(n, x, v):
    l = [x, x * 2.0]
    if n > 0:
        first = l.pop(0)
        x = x + first
    return x, len(l)


@case([8.0, ["a"]], [2.0, ["a"]])
def dict_pop_tensor(n, x, v):
    d = {"a": x, "mask": v}
    if n > 0:
        m = d.pop("mask")
        x = x + tf.reduce_sum(m)
    return x, sorted(d)


@case([20.0, ["a"]], [2.0, ["a"]])
def dict_pop_tensor_loop(n, x, v):
    d = {"a": x, "mask": v}
    for i in tf.range(n):
        m = d.pop("mask", None)
        if m is not None:
            x = x + tf.reduce_sum(m)
    return x, sorted(d)


@case([2.0, ["a", "b"], [1.0, 2.0, 3.0]], [2.0, ["a", "b"], [1.0, 2.0, 3.0]])
def update_with_outer(n, x, v):
    d = {"a": x}
    if n > 0:
        d.update(b=v)
    return x, sorted(d), d["b"]


@case([1, [1.0, 2.0, 3.0]], [1, [1.0, 2.0, 3.0]])
def append_outer_loop(n, x, v):
    l = []
    for i in tf.range(n):
        l.append(v)
    return len(l), l[0]


@case([5.0, 1], [2.0, 1])
def append_obj_holding_tensor_unused(n, x, v):
    @dataclasses.dataclass
    class R:
        t: object

    hist = []
    for i in tf.range(n):
        hist.append(R(x))
        x = x + 1.0
    return x, len(hist)


@case([3.0, 2], [2.0, 2])
def heap(n, x, v):
    h = [3, 1, 2]
    if n > 0:
        heapq.heapify(h)
        x += heapq.heappop(h)
    return x, len(h)


@case(4.0, 4.0)
def bisect_del(n, x, v):
    l = [1, 2, 3]
    for i in tf.range(n):
        if len(l) > 1:
            del l[-1]
    return x + len(l)


@case(3.0, 3.0)
def del_slice(n, x, v):
    l = [1, 2, 3]
    if n > 0:
        del l[1:]
    return x + len(l)


@case(7.0, 7.0)
def neg_index(n, x, v):
    l = [1.0, 2.0]
    if n > 0:
        l[-1] = 5.0
    return x + l[1]


@case(4.0, 4.0)
def computed_key(n, x, v):
    d = {}
    for j in range(2):
        if n > j:
            d["k" + str(j)] = "v"
    return x + len(d)


@case(8.0, 8.0)
def computed_index(n, x, v):
    l = [0.0, 0.0]
    for j in range(2):
        if n > 0:
            l[j + 0] = 3.0
    return x + l[0] + l[1]


@case(5.0, 2.0)
def aug_attr_int(n, x, v):
    ns = types.SimpleNamespace(c=0.0)
    for i in tf.range(n):
        ns.c += 1.0
    return x + ns.c


@case(3.0, 2.0)
def aug_str(n, x, v):
    s = "a"
    if n > 0:
        s += "b"
        x += 1.0
    return x


@case(4.0, 2.0)
def aug_tuple(n, x, v):
    s = ("a",)
    if n > 0:
        s += ("b",)
        x += len(s)
    return x


@case(2, 2)
def aug_list_tensor(n, x, v):
    l = [x]
    if n > 0:
        l += [v]
    return len(l)


@case(4.0, 4.0)
def setdefault_list(n, x, v):
    d = {}
    for i in tf.range(n):
        d.setdefault("k", []).append("q")
    return x + len(d) + len(d.get("k", ()))


@case(6.0, 6.0)
def nested_for_append(n, x, v):
    l = []
    for i in tf.range(n):
        for j in range(2):
            l.append(j)
            for k in tf.range(2):
                l.append("k")
    return x + len(l)


@case(4.0, 4.0)
def append_in_condition(n, x, v):
    l = []

    def check(m):
        l.append(1)
        return m > 0

    while check(n):
        n -= 1
    return x + len(l)


@case([2.0, 2], [3.0, 2])
def append_ternary(n, x, v):
    l = []
    y = (l.append(1) or x) if n > 0 else (l.append(2) or x + 1.0)
    return y, len(l)


@case([True, 1], [False, 1])
def append_boolop(n, x, v):
    l = []
    y = n > 0 and (l.append(1) or x > 1.0)
    return y, len(l)


@case(4.0, 4.0)
def counter_class_attr(n, x, v):
    class A:
        count = 0

        def __init__(self):
            A.count += 1

    for i in tf.range(n):
        A()
        if i > 0:
            A()
    return x + A.count


@case(7.0, 4.0)
def unique_names(n, x, v):
    used = set()

    def unique(base):
        k = 0
        while f"{base}_{k}" in used:
            k += 1
        used.add(f"{base}_{k}")
        return f"{base}_{k}"

    for i in tf.range(n):
        x = tf.identity(x + 1.0, name=unique("id"))
        x = tf.identity(x, name=unique("id"))
    return x + len(used)


@case(8.0, 2.0)
def context_stack(n, x, v):
    stack = []

    class Ctx:
        def __init__(self, k):
            self.k = k

        def __enter__(self):
            stack.append(self.k)
            return self

        def __exit__(self, *a):
            stack.pop()
            return False

    for i in tf.range(n):
        with Ctx("a"), Ctx("b"):
            x += len(stack)
    return x + len(stack)


@case(5.0, 2.0)
def memo_tensor_outer(n, x, v):
    memo = {}

    def get(k):
        if k not in memo:
            memo[k] = tf.ones([])
        return memo[k]

    get("a")
    for i in tf.range(n):
        x += get("a")
    return x


@case(5.0, 2.0)
def lazy_tensor_inside(n, x, v):
    memo = {}

    def get(k):
        if k not in memo:
            memo[k] = tf.ones([])
        return memo[k]

    for i in tf.range(n):
        x += get("a")
    return x


@case(5.0, 2.0)
def obj_graph(n, x, v):
    class Node:
        def __init__(self, p=None):
            self.kids = []
            self.p = p

        def add(self):
            k = Node(self)
            self.kids.append(k)
            return k

    root = Node()
    for i in tf.range(n):
        root.add().add()
        x += len(root.kids)
    return x


@case(4.0, 2.0)
def global_dict_cond(n, x, v):
    cfg = {"mode": "train", "calls": 0}

    def f(t):
        cfg["calls"] += 1
        return t * (2.0 if cfg["mode"] == "train" else 1.0)

    if n > 1:
        x = f(x)
    elif n > 0:
        x = f(f(x))
    else:
        cfg["mode"] = "eval"
        x = f(x)
    return x


@case(11.0, 11.0)
def deque_rot(n, x, v):
    q = collections.deque([1, 2, 3])
    if n > 0:
        q.rotate(1)
        q.popleft()
        q.appendleft(9)
    return x + q[0]


@case(3.0, 3.0)
def ordered(n, x, v):
    d = collections.OrderedDict(a=1, b=2)
    for i in tf.range(n):
        d.move_to_end("a")
        d.popitem(last=False)
    return x + len(d)


@case(4.0, 4.0)
def nonlocal_list(n, x, v):
    names = []

    def reg(s):
        nonlocal names
        names = names + [s]

    if n > 0:
        reg("a")
    else:
        reg("b")
    return x + len(names)


@case(10.0, 4.0)
def fn_attr(n, x, v):
    def g(a):
        g.calls = getattr(g, "calls", 0) + 1
        return a + 1.0

    for i in tf.range(n):
        x = g(g(x))
    return x + g.calls


@case(3.0, 3.0)
def exc_append(n, x, v):
    errs = []
    if n > 0:
        try:
            {}["k"]
        except KeyError as e:
            errs.append(e)
    return x + len(errs)


@case([3, [4.0, 5.0, 6.0]], [3, [1.0, 2.0, 3.0]])
def append_shape(n, x, v):
    shapes = []
    for i in tf.range(n):
        shapes.append(v.shape[0])
        v = v + 1.0
    return shapes[0], v


@case(6.0, 6.0)
def append_variable(n, x, v):
    l = []
    for i in tf.range(n):
        l.append(_V())
    return x + l[0] + len(l)


@case([6.0, 1], [6.0, 1])
def append_eager_const(n, x, v):
    with tf.init_scope():
        c = tf.constant(4.0)
    l = []
    if n > 0:
        l.append(c)
    return x + l[0], len(l)


@case(2.0, 2.0)
def clear_tensor_list(n, x, v):
    l = [x, v]
    if n > 0:
        l.clear()
    return x + len(l)


@case(6.0, 2.0)
def insert_tensor_unused(n, x, v):
    l = [v]
    if n > 0:
        l.insert(0, x * 2.0)
        x = x + l[0]
    l = None
    return x


@case(8.0, 5.0)
def gen_sum_append(n, x, v):
    out = []
    if n > 0:
        [out.append(k) for k in range(3)]
        x += sum(out)
    return x + len(out)


@case(5.0, 5.0)
def map_append(n, x, v):
    out = []
    if n > 0:
        list(map(out.append, range(3)))
    return x + len(out)


@case(3.0, 3.0)
def bound_method(n, x, v):
    out = []
    add = out.append
    for i in tf.range(n):
        add("z")
    return x + len(out)


@case(3.0, 3.0)
def partial_append(n, x, v):
    out = []
    add = functools.partial(out.append, 5)
    while n > 0:
        add()
        n -= 1
    return x + len(out)


@case(2.0, 2.0)
def str_builder(n, x, v):
    name = ""
    for i in tf.range(n):
        if name:
            x += 1.0
    return x


@case(17.0, 2.0)
def star_dict(n, x, v):
    opts = dict(a=1.0)

    def g(**kw):
        b = kw.pop("b", 2.0)
        assert set(kw) == {"a"}, kw
        return kw["a"] + b

    for i in tf.range(n):
        x += g(**opts) + g(b=1.0, **opts)
    return x


@case([5.0, 8.0], [2.0, 2.0])
def list_of_vars_zip(n, x, v):
    acc = [x, x]
    for i in tf.range(n):
        acc = [a + b for a, b in zip(acc, [1.0, 2.0])]
    return acc


@case(7.0, 4.0)
def nested_list_item(n, x, v):
    m = [[x, x], [x, x]]
    for i in tf.range(n):
        m[0][1] = m[0][1] + 1.0
    return m[0][1] + m[1][0]


@case(5.0, 2.0)
def attr_list_item(n, x, v):
    ns = types.SimpleNamespace(l=[x, x])
    for i in tf.range(n):
        ns.l[0] = ns.l[0] + 1.0
    return ns.l[0]


@case(3.0, 4.0)
def py_obj_attr_flag(n, x, v):
    ns = types.SimpleNamespace(training=False)
    if n > 0:
        ns.training = True
        x += 1.0 if ns.training else 2.0
    else:
        x += 1.0 if ns.training else 2.0
    return x


_v = None


def _V():
    global _v
    if _v is None:
        with tf.init_scope():
            _v = tf.Variable(3.0)
    return _v
