"""Code that travels: cloudpickle, joblib and spawned processes, beside pickle's own way by name."""

from __future__ import annotations

import copy
import importlib
import inspect
import linecache
import pickle
import subprocess
import sys
import types
import zlib

import cloudpickle
import numpy as np
import pytest

import tfx as tf
from tfx.function.pickling.by_name_or_value import Source, choose, chosen

PROGRAM = '''
import sys
import cloudpickle
import tfx as tf

scale = tf.Variable(3.0, name="scale")

@tf.function
def f(x, n=2, *, flag=True):
    """Documented."""
    if tf.reduce_sum(x) > 0:
        return x * scale * n
    return helper(x)

def helper(x):
    if tf.reduce_sum(x) < -10.0:
        return x * 0.0
    return tf.abs(x)

@tf.function(input_signature=[tf.TensorSpec([None])])
def total(x):
    return tf.reduce_sum(x)

@tf.function
def recursive(x, n=3, *, step=1.0):
    return x if n == 0 else recursive(x + step, n - 1)

@tf.custom_gradient
def double(x):
    return x * 2.0, lambda dy: dy * 7.0

@tf.recompute_grad
def exponential(x):
    return tf.exp(x * scale)

@tf.defun
def counting(x):
    v = tf.Variable(0.0)
    v.assign_add(x)
    return v.read_value()

class Model(tf.Module):
    def __init__(self):
        super().__init__("model")
        self.v = tf.Variable(1.0)
        self.minus = tf.function(self.plain)

    def plain(self, x):
        return x - self.v

    @tf.function
    def __call__(self, x):
        if x[0] > 0.0:
            return x * self.v
        return -x

    @tf.Module.with_name_scope
    def scoped(self, x):
        return x + self.v

    @staticmethod
    @tf.function
    def static(x):
        return x + 5.0

def local():
    v = tf.Variable(5.0)
    made = tf.function(lambda x: x * v, reduce_retracing=True)
    made(tf.ones([2]))
    return made, v

def work(x):
    return f(x) + tf.ones([]) * recursive(0.0)

if __name__ == "__main__":
    model = Model()
    f(tf.ones([2])), model(tf.ones([2])), recursive(tf.ones([2])), counting(tf.constant(1.0))
    if sys.argv[1] == "dump":
        made = tf, f, scale, recursive, total, double, exponential, counting, model, Model
        sys.stdout.buffer.write(cloudpickle.dumps((*made, local())))
    else:
        import joblib
        import multiprocessing

        x = tf.ones([2])
        with joblib.parallel_config(n_jobs=2):
            results = joblib.Parallel()(joblib.delayed(g)(x) for g in (work, f, model, local()[0]))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            results += [pool.apply(g, (x,)) for g in (work, f, model)]
        print([[float(e) for e in r] for r in results])
'''
READER = """
import pickle, sys
made = pickle.load(sys.stdin.buffer)
tf, f, scale, recursive, total, double, exponential, counting, model, Model, (g, v) = made
x = tf.ones([3])
print(f.experimental_get_tracing_count(), f.__doc__, total.input_signature, g._reduce_retracing)
print(f(x).numpy(), f(-x).numpy(), f(-x * 20.0).numpy())
scale.assign(1.0)
v.assign(7.0)
print(f(x, flag=False).numpy(), g(x).numpy(), total(x).numpy(), recursive(x, step=2.0).numpy())
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    y, z = double(x), exponential(x - 1.0)
print(tape.gradient(y, x).numpy(), tape.gradient(z, x).numpy())
print(float(counting(tf.constant(2.0))), float(counting(tf.constant(2.0))))
model.v.assign(4.0)
print(model(x).numpy(), model.minus(x).numpy(), model.scoped(x).numpy(), Model()(-x).numpy())
print(Model.static(x).numpy())
"""


def run(arguments, given=None, cwd=None):
    done = subprocess.run(
        [sys.executable, *arguments], input=given, capture_output=True, check=False, cwd=cwd
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.slow
def test_a_program_travels_without_its_file(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    pickled = run([str(program), "dump"])
    program.unlink()
    told = run(["-c", READER], pickled, cwd=tmp_path).decode()
    assert told.split("\n") == [
        "0 Documented. (TensorSpec(shape=(None,), dtype=tf.float32, name=None),) True",
        "[6. 6. 6.] [1. 1. 1.] [-0. -0. -0.]",
        "[2. 2. 2.] [7. 7. 7.] 3.0 [5. 5. 5.]",
        "[7. 7. 7.] [1. 1. 1.]",
        "2.0 4.0",
        "[4. 4. 4.] [-3. -3. -3.] [5. 5. 5.] [1. 1. 1.]",
        "[6. 6. 6.]",
        "",
    ]


@pytest.mark.slow
def test_joblib_and_spawned_processes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    told = run([str(program), "pools"]).decode()
    nine, six, one, five = [9.0, 9.0], [6.0, 6.0], [1.0, 1.0], [5.0, 5.0]
    assert eval(told) == [nine, six, one, five, nine, six, one]


def test_the_module_is_pickled_by_its_name():
    assert cloudpickle.loads(cloudpickle.dumps(tf)) is tf
    assert copy.deepcopy({"tf": tf})["tf"] is tf
    plain = cloudpickle.loads(cloudpickle.dumps(lambda x: tf.abs(x) + tf.nn.relu(x)))
    np.testing.assert_array_equal(plain(tf.constant([-1.0, 2.0])), [1.0, 4.0])


NAMESPACES = """
    tfx bitwise config dtypes debugging image io linalg lookup math nest nn random saved_model
    signal strings summary train experimental experimental.numpy compat.v1 compat.v1.debugging
    compat.v1.nn compat.v1.train compat.v1.losses initializers optimizers
"""


@pytest.mark.parametrize("name", NAMESPACES.split())
def test_public_names_are_pickled_by_name(name):
    namespace = importlib.import_module("tfx" if name == "tfx" else f"tfx.{name}")
    wrong = []
    for attribute in dir(namespace):
        thing = getattr(namespace, attribute)
        if isinstance(thing, types.FunctionType | type) and not attribute.startswith("_"):
            try:
                assert pickle.loads(pickle.dumps(thing)) is thing
            except Exception as e:
                wrong.append((attribute, e))
    assert not wrong


def test_functions_of_a_program_are_found_by_name_where_it_is_known(monkeypatch):
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec(
        "import tfx as tf\n@tf.function\ndef f(x):\n    return x + 1.0\n"
        "@tf.custom_gradient\ndef g(x):\n    return x, lambda dy: dy\n",
        main.__dict__,
    )
    for made in (main.f, main.g):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            pickled = pickle.dumps(made, protocol)
            assert b"__main__" in pickled
            assert pickle.loads(pickled) is made
        other = pickle.loads(cloudpickle.dumps(made))
        assert other is not made
        assert float(other(tf.constant(1.0))) == float(made(tf.constant(1.0)))
        assert copy.copy(made) is made
    assert copy.deepcopy(main.f) is main.f


def test_a_local_function_travels_with_its_code_if_the_pickler_takes_code():
    v = tf.Variable(2.0)
    f = tf.function(lambda x: x * v)
    f(tf.ones([2]))
    g, w = cloudpickle.loads(cloudpickle.dumps((f, v)))
    w.assign(3.0)
    np.testing.assert_array_equal(g(tf.ones([5])), np.full(5, 3.0))
    assert g.concrete_functions[0] is not f.concrete_functions[0]
    carried = pickle.loads(pickle.dumps(f))
    assert (carried.__module__, carried.__qualname__) == (f.__module__, f.__qualname__)
    again = cloudpickle.loads(cloudpickle.dumps(carried))  # it has no code any more
    np.testing.assert_array_equal(again(tf.ones([2])), [2.0, 2.0])


def test_a_module_that_others_do_not_have(monkeypatch):
    name = "somewhere_of_its_own"
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec("import tfx as tf\n@tf.function\ndef f(x):\n    return x + 1.0\n", module.__dict__)
    assert cloudpickle.loads(cloudpickle.dumps(module.f)) is module.f
    cloudpickle.register_pickle_by_value(module)
    try:
        pickled = cloudpickle.dumps(module.f)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    monkeypatch.delitem(sys.modules, name)
    assert float(pickle.loads(pickled)(tf.constant(1.0))) == 2.0


def test_source_is_provided_where_there_is_none(tmp_path):
    text = "def f(x):\n    return x\n"
    source = pickle.loads(pickle.dumps(Source("<cell 1>", zlib.compress(text.encode()))))
    source.provide()
    try:
        assert linecache.getlines("<cell 1>") == text.splitlines(keepends=True)
        linecache.checkcache()
        assert linecache.getlines("<cell 1>")
    finally:
        linecache.cache.pop("<cell 1>", None)
    there = tmp_path / "there.py"
    there.write_text("x = 1\n")
    Source(str(there), zlib.compress(text.encode())).provide()
    assert linecache.getlines(str(there)) == ["x = 1\n"]


def test_cells_of_others_are_refused_as_ever():
    for cell in (types.CellType(), types.CellType(1)):
        with pytest.raises(TypeError, match="cannot pickle 'cell' object"):
            pickle.dumps(cell)
    picked = choose(lambda: (str, ("code",)), lambda: (str, ("names",)))
    assert chosen(pickle.loads(pickle.dumps(picked))) == "names"
    assert chosen(cloudpickle.loads(cloudpickle.dumps(picked))) == "code"


def constraint(value):
    return tf.abs(value)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"]
)
def test_copies_of_variables_keep_what_was_said_of_them(copied):
    v = tf.Variable(
        [1.0],
        constraint=constraint,
        aggregation=tf.VariableAggregation.MEAN,
        synchronization=tf.VariableSynchronization.ON_READ,
        shape=[None],
    )
    w = copied(v)
    assert w.constraint is constraint
    assert (w.aggregation, w.synchronization) == (v.aggregation, v.synchronization)
    assert w.shape.as_list() == [None]


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"]
)
def test_copies_of_generators_are_generators(copied):
    # A state that is known as one is rewound when a computation is done again.
    generator = copied(tf.random.Generator.from_seed(1))
    x = tf.ones([3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda a: a * a * generator.normal([3]))(x)
    np.testing.assert_allclose(tape.gradient(y, x), 2.0 * y, rtol=1e-6)


class Layer(tf.Module):
    def __init__(self):
        super().__init__()
        self.factor = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(self, x):
        return x * 3.0, lambda dy: (None, dy * 5.0)


def test_bound_custom_gradients():
    layer = Layer()
    scaled = pickle.loads(pickle.dumps(layer.scaled))
    assert float(scaled(tf.constant(1.0))) == 3.0
    assert inspect.ismethod(scaled._function)
    assert scaled._function.__self__ is not layer
    assert copy.deepcopy(layer.scaled)._function.__self__ is not layer
    assert copy.deepcopy(Layer.scaled) is Layer.scaled
