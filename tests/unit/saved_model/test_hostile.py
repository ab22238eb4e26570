"""Damaged, foreign and lying bundles: an error that names the file, or the right result."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import onnx
import pytest
from hypothesis import strategies as st

import tfx as tf
from tests.unit.saved_model import damage
from tests.unit.saved_model.damage import change_concrete, noticed, rewrite
from tests.unit.saved_model.models import Trainer, batch, run_python
from tfx.bundle.manifest import (
    MANIFEST_NAME,
    Child,
    FrozenVariable,
    Manifest,
    ObjectNode,
    read_manifest,
)
from tfx.bundle.python_values import Leaf, ShapeValue
from tfx.framework.trackable import walk
from tfx.loaders import Bundle


@pytest.fixture(scope="module")
def template(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("bundles") / "template"
    damage.make_bundle(folder)
    return folder


@pytest.fixture(scope="module")
def expected(template: Path) -> damage.Outcome:
    return damage.outcome(template)


@pytest.fixture
def bundle(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path / "m")
    return tmp_path / "m"


def files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


FILES = [
    "assets/words.txt", "bundle.pb", "serving_default.live.onnx", "serving_default.onnx",
    "square.onnx", "train_step.onnx", "variables/model.safetensors",
]  # fmt: skip
# Loading takes the live form of this one.
UNUSED = "serving_default.onnx"


def test_the_template_has_these_files(template: Path, expected: Any) -> None:
    assert files(template) == FILES
    assert noticed(template, expected) is None


@pytest.mark.parametrize("name", FILES)
def test_truncated_grown_and_missing_files(name: str, bundle: Path, expected: Any) -> None:
    path = bundle / name
    data = path.read_bytes()
    for changed in (b"", data[:1], data[: len(data) // 2], data[:-1], data + b"\0", data * 2):
        path.write_bytes(changed)
        message = noticed(bundle, expected)
        assert message is not None
        assert name in message
    path.unlink()
    message = noticed(bundle, expected)
    assert message is not None
    assert ("it is not a bundle" if name == "bundle.pb" else name) in message
    path.mkdir()
    assert noticed(bundle, expected) is not None


@pytest.mark.parametrize("name", FILES)
def test_zeros_and_noise(name: str, bundle: Path, expected: Any, rng: Any) -> None:
    path = bundle / name
    size = path.stat().st_size
    for changed in (bytes(size), rng.bytes(size), b"\xff" * size):
        path.write_bytes(changed)
        message = noticed(bundle, expected)
        if name != UNUSED:
            assert message is not None
            assert name in message


@hypothesis.settings(max_examples=80)
@hypothesis.given(data=st.data())
def test_a_flipped_byte_is_noticed(
    data: st.DataObject, template: Path, expected: Any, tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.mktemp("flip") / "m"
    shutil.copytree(template, folder)
    name = data.draw(st.sampled_from(FILES))
    size = (folder / name).stat().st_size
    position = data.draw(st.integers(0, size - 1))
    damage.flip(folder / name, position, data.draw(st.integers(1, 255)))
    message = noticed(folder, expected)
    shutil.rmtree(folder.parent)
    if name != UNUSED:
        assert message is not None
        assert name in message


def test_flips_in_large_weights_are_noticed_on_request(tmp_path: Path) -> None:
    module = tf.Module()
    module.v = tf.Variable(np.ones(2_000_000, np.float32))
    tf.saved_model.save(module, tmp_path / "m")
    damage.flip(tmp_path / "m" / "variables" / "model.safetensors", 5_000_000, 1)
    with pytest.raises(tf.errors.BundleError, match=r"model\.safetensors.*SHA-256"):
        tf.saved_model.load(tmp_path / "m", options=tf.saved_model.LoadOptions(verify=True))


@pytest.mark.parametrize("one", FILES)
def test_swapped_files(one: str, bundle: Path, expected: Any) -> None:
    for other in FILES:
        if one != other:
            a, b = (bundle / one).read_bytes(), (bundle / other).read_bytes()
            (bundle / one).write_bytes(b)
            (bundle / other).write_bytes(a)
            assert noticed(bundle, expected) is not None
            (bundle / one).write_bytes(a)
            (bundle / other).write_bytes(b)


def test_files_of_another_bundle(bundle: Path, expected: Any, tmp_path: Path) -> None:
    model = Trainer(seed=3)
    tf.saved_model.save(model, tmp_path / "third", signatures=model.signatures)
    shutil.copy(tmp_path / "third" / "serving_default.onnx", bundle / "serving_default.onnx")
    shutil.copy(tmp_path / "third" / "serving_default.live.onnx", bundle)
    message = noticed(bundle, expected)
    assert message is not None
    assert "serving_default" in message


def test_what_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        tf.saved_model.load(tmp_path / "none")
    with pytest.raises(tf.errors.OpError, match=str(tmp_path)):
        tf.saved_model.load(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(tf.errors.OpError, match="file"):
        tf.saved_model.load(tmp_path / "file")


def test_links_out_of_the_bundle(bundle: Path, expected: Any, tmp_path: Path) -> None:
    for name in FILES[2:]:
        outside = tmp_path / "outside"
        shutil.move(bundle / name, outside)
        (bundle / name).symlink_to(outside)
        message = noticed(bundle, expected)
        assert message is not None
        assert name in message
        (bundle / name).unlink()
        shutil.move(outside, bundle / name)


def test_pipes_do_not_hang(bundle: Path, expected: Any) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes")
    for name in FILES:
        data = (bundle / name).read_bytes()
        (bundle / name).unlink()
        os.mkfifo(bundle / name)
        assert noticed(bundle, expected) is not None
        (bundle / name).unlink()
        (bundle / name).write_bytes(data)


# Manifests that are well-formed but do not tell the truth about the files


def edit_graph(**changes: Any) -> Any:
    """Change fields of a graph's record; callables get the old value."""

    def change(graph: Any) -> Any:
        new = {k: v(getattr(graph, k)) if callable(v) else v for k, v in changes.items()}
        return dataclasses.replace(graph, **new)

    return change


def edit_each(**changes: Any) -> Any:
    return lambda items: tuple(dataclasses.replace(i, **changes) for i in items)


def renamed(items: Any) -> Any:
    return (dataclasses.replace(items[0], name="other"), *items[1:])


def swap_frozen(items: tuple[FrozenVariable, ...]) -> tuple[FrozenVariable, ...]:
    a, b, *rest = items
    swapped = FrozenVariable(a.name, b.variable), FrozenVariable(b.name, a.variable)
    return (*swapped, *rest)


LIES = {
    "input dtype": change_concrete(
        "square",
        argument_leaves=edit_each(dtype="float64"),
        graph=edit_graph(inputs=edit_each(dtype="float64")),
    ),
    "input shape": change_concrete(
        "square",
        argument_leaves=edit_each(shape=(None, 7)),
        graph=edit_graph(inputs=edit_each(shape=(None, 7))),
    ),
    "input rank": change_concrete(
        "square",
        argument_leaves=edit_each(shape=(40,)),
        graph=edit_graph(inputs=edit_each(shape=(40,))),
    ),
    "input name": change_concrete("square", graph=edit_graph(inputs=renamed)),
    "output dtype": change_concrete(
        "square",
        result_leaves=edit_each(dtype="int8"),
        graph=edit_graph(outputs=edit_each(dtype="int8")),
    ),
    "output shape": change_concrete(
        "square",
        result_leaves=edit_each(shape=(3, 3)),
        graph=edit_graph(outputs=edit_each(shape=(3, 3))),
    ),
    "output name": change_concrete("square", graph=edit_graph(outputs=renamed)),
    "frozen name": change_concrete(
        "serving_default",
        graph=edit_graph(frozen_variables=renamed),
        live_graph=None,
    ),
    "frozen missing": change_concrete(
        "serving_default",
        graph=edit_graph(frozen_variables=lambda items: items[1:]),
        live_graph=None,
    ),
    "frozen swapped": change_concrete(
        "serving_default", graph=edit_graph(frozen_variables=swap_frozen), live_graph=None
    ),
    "another file": change_concrete("square", graph=edit_graph(file="train_step.onnx")),
    "live is another": change_concrete(
        "serving_default", live_graph=edit_graph(file="square.onnx")
    ),
    "frozen as live": change_concrete(
        "serving_default", live_graph=edit_graph(file="serving_default.onnx")
    ),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_lies_about_graphs(lie: Any, bundle: Path, expected: Any) -> None:
    rewrite(bundle, lie)
    message = noticed(bundle, expected)
    assert message is not None
    assert ".onnx" in message
    assert str(bundle) in message


@pytest.mark.parametrize(
    "changes",
    [{"dtype": "int32"}, {"shape": (2, 2)}, {"shape": ()}],
    ids=str,
)
def test_lies_about_variables(changes: Any, bundle: Path, expected: Any) -> None:
    def lie(manifest: Manifest) -> Manifest:
        items = [
            dataclasses.replace(v, **changes) if v.name == "text" else v for v in manifest.variables
        ]
        return dataclasses.replace(manifest, variables=tuple(items))

    rewrite(bundle, lie)
    message = noticed(bundle, expected)
    assert message is not None
    assert "text" in message


def test_variables_of_one_shape_swapped_in_the_manifest(bundle: Path, expected: Any) -> None:
    def lie(manifest: Manifest) -> Manifest:
        places = {v.name: v.storage for v in manifest.variables}
        swapped = {"optimizer/m/b": places["b"], "b": places["optimizer/m/b"]}
        items = [
            dataclasses.replace(v, storage=swapped.get(v.name, v.storage))
            for v in manifest.variables
        ]
        return dataclasses.replace(manifest, variables=tuple(items))

    # It is a bundle with other contents now; but a stock graph still has the old place.
    drop_live = change_concrete("serving_default", live_graph=None)
    rewrite(bundle, lambda m: drop_live(lie(m)))
    message = noticed(bundle, expected)
    assert message is not None
    assert "serving_default.onnx" in message


# Graph files that are not what a bundle may have


def edit_model(path: Path, change: Any) -> None:
    model = onnx.load(path, load_external_data=False)
    change(model)
    path.write_bytes(model.SerializeToString())
    rewrite(path.parent)


def external(**places: str) -> Any:
    def change(model: Any) -> None:
        tensor = next(t for t in model.graph.initializer if t.external_data)
        for entry in tensor.external_data:
            entry.value = places.get(entry.key, entry.value)

    return change


def add_function(model: Any) -> None:
    """A local function that calls itself."""
    function = model.functions[0]
    function.node.append(
        onnx.helper.make_node(
            function.name, list(function.input), ["again"], domain=function.domain
        )
    )


def multiply_functions(model: Any) -> None:
    """Forty local functions, each calling the one before twice."""
    domain = "tfx.function"
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid(domain, 1)]
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    model.functions.append(onnx.helper.make_function(domain, "f0", ["x"], ["y"], [node], opsets))
    for i in range(1, 40):
        nodes = [
            onnx.helper.make_node(f"f{i - 1}", [a], [b], domain=domain)
            for a, b in (("x", "m"), ("m", "y"))
        ]
        model.functions.append(
            onnx.helper.make_function(domain, f"f{i}", ["x"], ["y"], nodes, opsets)
        )
    model.graph.node[0].op_type = "f39"
    del model.graph.node[0].input[1:]


def custom_operator(model: Any) -> None:
    model.graph.node[0].domain = "com.example"
    model.opset_import.append(onnx.helper.make_opsetid("com.example", 1))


def wrong_arity(model: Any) -> None:
    model.graph.node[0].input.extend(["x"] * 5)


def unknown_name(model: Any) -> None:
    model.graph.node[0].input[0] = "nobody"


def wrong_type(model: Any) -> None:
    model.graph.input[0].type.tensor_type.elem_type = 99


def sequence_input(model: Any) -> None:
    model.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = 1


def future_opset(model: Any) -> None:
    model.opset_import[0].version = 1000


GRAPHS = {
    "absolute path": external(location="/etc/passwd", offset="0"),
    "parent path": external(location="../outside"),
    "unlisted file": external(location="variables/other.safetensors"),
    "the manifest": external(location="bundle.pb", offset="0"),
    "an asset": external(location="assets/words.txt", offset="0"),
    "beyond the end": external(offset="99999999"),
    "negative": external(offset="-8"),
    "no number": external(offset="x"),
    "too long": external(length="99999999"),
    "too short": external(length="4"),
    "off by one": external(offset="65"),
    "calls itself": add_function,
    "multiplies": multiply_functions,
    "custom operator": custom_operator,
    "wrong arity": wrong_arity,
    "unknown name": unknown_name,
    "wrong type": wrong_type,
    "sequence": sequence_input,
    "future opset": future_opset,
}  # fmt: skip


@pytest.mark.parametrize("change", GRAPHS.values(), ids=GRAPHS.keys())
def test_hostile_graphs(change: Any, bundle: Path, expected: Any) -> None:
    edit_model(bundle / "square.onnx", change)
    message = noticed(bundle, expected)
    assert message is not None
    assert "square.onnx" in message


def test_a_frozen_variable_elsewhere_in_the_store(bundle: Path, expected: Any) -> None:
    """The place of another variable of the same shape: valid data, but the wrong one."""
    from tfx.bundle.shards import Store

    manifest, store = read_manifest(bundle), Store(bundle)
    (place,) = [store.entry(v.storage) for v in manifest.variables if v.name == "optimizer/v/b"]

    def change(model: Any) -> None:
        (tensor,) = [t for t in model.graph.initializer if t.name == "b"]
        (offset,) = [e for e in tensor.external_data if e.key == "offset"]
        offset.value = str(place.offset)

    rewrite(bundle, change_concrete("serving_default", live_graph=None))
    edit_model(bundle / "serving_default.onnx", change)
    message = noticed(bundle, expected)
    assert message is not None
    assert "serving_default.onnx: initializer 'b'" in message


def test_a_newer_bundle_is_refused_by_name(bundle: Path, monkeypatch: Any) -> None:
    import tfx.bundle.records as records
    from tfx.bundle import codec, manifest

    monkeypatch.setattr(records, "FORMAT_VERSION", 2, raising=True)
    data = (bundle / MANIFEST_NAME).read_bytes()
    assert data[:2] == b"\x08\x01"
    import hashlib

    body = b"\x08\x63" + data[2:-35]
    (bundle / MANIFEST_NAME).write_bytes(body + data[-35:-32] + hashlib.sha256(body).digest())
    assert codec is not None
    assert manifest is not None
    with pytest.raises(tf.errors.UnsupportedVersionError, match="99"):
        tf.saved_model.load(bundle)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["manifest", "graph", "weights"])
def test_random_changes_never_crash(kind: str, template: Path, tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from tests.unit.saved_model import damage\n"
        "damage.attack(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], 0, 120)\n"
    )
    lines = run_python(program, template, tmp_path / "work", kind).splitlines()
    assert len(lines) == 120
    refused = [line for line in lines if not line.endswith("loaded")]
    assert len(refused) > 30


def test_nothing_runs_before_the_bundle_was_checked(bundle: Path) -> None:
    """A damaged graph is refused at its first use, and the others go on working."""
    damage.flip(bundle / "train_step.onnx", 100, 1)
    back = tf.saved_model.load(bundle)
    x, y = batch()
    before = back.predict(x)["logits"].numpy()
    for _ in range(2):
        with pytest.raises(tf.errors.BundleError, match=r"train_step\.onnx"):
            back.train_step(x, y)
    np.testing.assert_array_equal(back.predict(x)["logits"], before)


@pytest.mark.parametrize("kind", ["list", "value", "asset"])
def test_a_root_that_is_no_object(kind: str, bundle: Path) -> None:
    def change(manifest: Manifest) -> Manifest:
        _, *others = manifest.objects
        target = 0 if kind == "asset" else None
        return dataclasses.replace(manifest, objects=(ObjectNode(kind, target=target), *others))

    rewrite(bundle, change)
    with pytest.raises(tf.errors.BundleError, match=f"object 0, the root, is of kind '{kind}'"):
        tf.saved_model.load(bundle)


@pytest.mark.parametrize(
    "signature",
    [5, (ShapeValue(()),), (Leaf(0),), (None, 3), "text"],
    ids=["number", "shape", "leaf", "none", "text"],
)
def test_input_signatures_that_are_none(signature: Any, bundle: Path) -> None:
    def change(manifest: Manifest) -> Manifest:
        functions = [dataclasses.replace(f, input_signature=signature) for f in manifest.functions]
        return dataclasses.replace(manifest, functions=tuple(functions))

    with pytest.raises(tf.errors.BundleError):
        rewrite(bundle, change)  # some are refused by the manifest's own check
        tf.saved_model.load(bundle)


def test_a_list_that_holds_itself(bundle: Path) -> None:
    """A program can have one, too; nothing that goes through objects may run forever."""

    def change(manifest: Manifest) -> Manifest:
        root, *others = manifest.objects
        number = len(manifest.objects)
        root = dataclasses.replace(root, children=(*root.children, Child("loop", number)))
        loop = ObjectNode("list", (Child("0", number),))
        return dataclasses.replace(manifest, objects=(root, *others, loop))

    rewrite(bundle, change)
    loaded = tf.saved_model.load(bundle)
    assert loaded.loop[0] is loaded.loop
    assert {id(v) for v in loaded.variables} == {
        id(node.item) for node in walk(loaded) if node.is_variable
    }


@pytest.mark.parametrize("use", [tf.saved_model.load, Bundle.open], ids=["load", "Bundle"])
def test_a_missing_folder_is_two_kinds_of_error(use: Any, tmp_path: Path) -> None:
    for kind in (tf.errors.NotFoundError, FileNotFoundError, OSError):
        with pytest.raises(kind, match="nowhere does not exist"):
            use(tmp_path / "nowhere")
