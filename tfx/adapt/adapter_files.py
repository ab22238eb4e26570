"""Adapters as files: safetensors with the key names of peft, apart from the model's weights.

Owns the layout: ``base_model.model.LAYER.lora_A.weight`` is ``[rank, in]`` and ``lora_B.weight``
``[out, rank]``, whatever way round the weight itself is. A folder has ``adapter_model.safetensors``
and ``adapter_config.json``, as peft writes and reads them; a single file has the same settings in
its header. The one decision: everything in a file is compared with the model before anything
changes.
"""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfx.adapt.adapter import Lora, positive
from tfx.adapt.attach import lora
from tfx.adapt.held_values import AdapterValues, Array
from tfx.adapt.layout import sizes_of
from tfx.adapt.targets import layer_of, named_variables
from tfx.bundle.safetensors import open_safetensors, write_safetensors
from tfx.core.errors import BundleError, InvalidArgumentError
from tfx.framework.module import Module
from tfx.train.files import file_errors, replace_file

_PREFIX = "base_model.model."
_FILE = "adapter_model.safetensors"
_CONFIG = "adapter_config.json"
_SETTINGS = "tfx.adapter"
_ENDS = {
    "lora_A": "a",
    "lora_B": "b",
    "lora_embedding_A": "a",
    "lora_embedding_B": "b",
}


def save(adapter: Lora, path: str | os.PathLike[str], name: str | None = None) -> None:
    """Write an adapter, and nothing of the model, in peft's form.

    Args:
        adapter: What ``lora`` returned.
        path: A file that ends in ``.safetensors``, or a folder, in which
            ``adapter_model.safetensors`` and ``adapter_config.json`` are then written. What is
            there is replaced as a whole.
        name: Which of the adapters that it holds; None: the active one.

    Raises:
        InvalidArgumentError: there is no adapter of this name.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> model = tf.Module()
        >>> model.query = tf.Module()
        >>> model.query.kernel = tf.Variable(tf.ones([4, 3]))
        >>> adapter = tf.adapt.lora(model, rank=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.adapt.save(adapter, folder + "/mine.safetensors")
        ...     tf.adapt.load(adapter, folder + "/mine.safetensors", "mine")
        >>> adapter.active
        'mine'
    """
    a, b, alpha, rank = adapter.values(name).as_arrays()
    axes = adapter.output_axes
    tensors: dict[str, Array] = {}
    for key in a:
        first, second = _to_peft(a[key], b[key], axes[key])
        layer = f"{_PREFIX}{layer_of(key)}"
        tensors[f"{layer}.lora_A.weight"] = first
        tensors[f"{layer}.lora_B.weight"] = second
    settings = {
        "peft_type": "LORA",
        "r": rank,
        "lora_alpha": alpha,
        "target_modules": sorted({layer_of(key) for key in a}),
        "base_model_name_or_path": None,
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "lora_dropout": 0.0,
        "task_type": None,
        "use_dora": False,
        "use_rslora": False,
    }
    metadata = {"format": "pt", _SETTINGS: json.dumps(settings, sort_keys=True)}
    target = Path(path)
    if target.suffix == ".safetensors":
        _write(target, tensors, metadata)
        return
    with file_errors(str(target)):
        target.mkdir(parents=True, exist_ok=True)
    replace_file(target / _CONFIG, (json.dumps(settings, indent=2) + "\n").encode())
    _write(target / _FILE, tensors, metadata)


def load(
    adapter: Lora,
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    alpha: float | None = None,
    switch: bool = True,
) -> None:
    """Read an adapter that ``save`` or peft wrote, and hold it beside those that are there.

    Args:
        adapter: What ``lora`` returned, for a model with the same layers.
        path: A ``.safetensors`` file, or a folder with ``adapter_model.safetensors``.
        name: The name that it gets here; None: the file's, or the folder's, own name. A held
            adapter of that name is replaced.
        alpha: Its ``alpha``, where neither the header nor an ``adapter_config.json`` tells it.
        switch: Whether to make it the active one.

    Raises:
        NotFoundError: there is no such file.
        BundleError: the file is damaged, or no adapter of this kind.
        InvalidArgumentError: it is for other layers or shapes, or its rank is larger than that of
            ``adapter``; nothing is changed then.
        FailedPreconditionError: the active adapter is merged into the weights.
    """
    settings, tensors, where = _read(path)
    factors = _by_layer(tensors, where)
    wanted = {layer_of(key): key for key in adapter.targets}
    found = _matched(list(factors), list(wanted), where)
    missing = [layer for layer in wanted if layer not in found.values()]
    if missing:
        raise InvalidArgumentError(
            f"{where} has nothing for {', '.join(missing[:5])}"
            f"{f' and {len(missing) - 5} more' if len(missing) > 5 else ''}, adapted here: "
            f"make that with targets={_short(settings.get('target_modules'))}, or load_lora()."
        )
    a: dict[str, Array] = {}
    b: dict[str, Array] = {}
    ranks = set()
    for theirs, layer in found.items():
        key = wanted[layer]
        a[key], b[key] = _from_peft(*factors[theirs], adapter, key, f"{where}: {theirs}")
        ranks.add(b[key].shape[0])
    rank = max(ranks)
    if rank > adapter.rank or len(ranks) > 1:
        raise InvalidArgumentError(
            f"{where} has adapters of rank {', '.join(map(str, sorted(ranks)))}; "
            f"{adapter.name} takes one rank, up to {adapter.rank}: call lora(rank={rank})."
        )
    values = AdapterValues.from_arrays(a, b, _alpha(settings, alpha, rank, where), rank)
    own = name or _own_name(Path(path))
    if own == adapter.active:
        raise InvalidArgumentError(
            f"{adapter.name} has the adapter {own!r} active: give the loaded one another name, or "
            "switch() to another first."
        )
    adapter.hold(own, values.widened(adapter.rank) if rank < adapter.rank else values)
    if switch:
        adapter.switch(own)


def load_lora(
    module: Module,
    path: str | os.PathLike[str],
    adapter: str | None = None,
    *,
    alpha: float | None = None,
    name: str = "lora",
) -> Lora:
    """Attach an adapter as a file has it: its layers, its rank, its values.

    Args:
        module: The model that it was trained for.
        path: What ``save`` or peft wrote.
        adapter: The name that it gets; None: the file's, or the folder's, own name.
        alpha: See ``load``.
        name: The attribute of the module that the adapter becomes.

    Returns:
        The ``Lora``; further adapters can be loaded into it.

    Raises:
        InvalidArgumentError: it is for layers that the module does not have.
        BundleError: the file is damaged, or no adapter of this kind.
    """
    settings, tensors, where = _read(path)
    factors = _by_layer(tensors, where)
    layers: dict[str, str] = {}
    for key, variable in named_variables(module).items():
        if (variable.shape.rank or 0) >= 2:
            layers.setdefault(layer_of(key), key)
    found = _matched(list(factors), list(layers), where)
    rank = max(first.shape[0] for first, _ in factors.values())
    keys = {layers[layer] for layer in found.values()}
    _alpha(settings, alpha, rank, where)
    made = lora(module, rank, keys.__contains__, adapter="", name=name)
    try:
        load(made, path, adapter, alpha=alpha)
    except BaseException:
        made.remove()
        raise
    made.discard("")
    return made


def _write(target: Path, tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}")
    with file_errors(str(target)):
        try:
            write_safetensors(temporary, tensors, metadata)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array], str]:
    """Settings, arrays of their own, and the file's name."""
    given = Path(path)
    file = given / _FILE if given.is_dir() else given
    with open_safetensors(file) as opened:
        tensors = {key: np.array(opened.array(key)) for key in opened.keys()}  # noqa: SIM118
        text = opened.metadata.get(_SETTINGS)
    config = given / _CONFIG if given.is_dir() else file.parent / _CONFIG
    if text is None and config.is_file():
        text = config.read_text(encoding="utf-8")
    try:
        settings = json.loads(text) if text else {}
    except ValueError as e:
        raise BundleError(f"{config}: not JSON ({e}), expected the settings of an adapter") from e
    if not isinstance(settings, dict) or settings.get("peft_type", "LORA") != "LORA":
        raise BundleError(f"{file}: {text!r:.200} are no settings of a LoRA adapter")
    if settings.get("alpha_pattern"):
        raise BundleError(
            f"{file}: an adapter with an alpha for each layer (alpha_pattern), where one for all "
            "is read: scale each lora_B by its alpha / lora_alpha and leave alpha_pattern out"
        )
    if settings.get("use_dora"):
        raise BundleError(f"{file}: a DoRA adapter, which scales weights too; only LoRA is read")
    return settings, tensors, str(file)


def _by_layer(tensors: Mapping[str, Array], where: str) -> dict[str, tuple[Array, Array]]:
    """The two factors of each layer, as the file has them."""
    found: dict[str, dict[str, Array]] = {}
    for key, array in tensors.items():
        parts = key.removeprefix(_PREFIX).split(".")
        ends = [i for i, part in enumerate(parts) if part in _ENDS]
        if not ends:
            raise BundleError(
                f"{where}: tensor {key!r} is no factor of a LoRA adapter, expected keys such as "
                f"'{_PREFIX}LAYER.lora_A.weight'"
            )
        layer = ".".join(parts[: ends[-1]])
        found.setdefault(layer, {})[_ENDS[parts[ends[-1]]]] = array
    for layer, factors in found.items():
        if set(factors) != {"a", "b"} or min(x.ndim for x in factors.values()) < 2:
            raise BundleError(f"{where}: {layer!r} lacks one of lora_A and lora_B, or a shape")
    if not found:
        raise BundleError(f"{where}: no tensors, expected the factors of an adapter")
    return {layer: (f["a"], f["b"]) for layer, f in found.items()}


def _matched(theirs: list[str], ours: list[str], where: str) -> dict[str, str]:
    """Each layer of a file with ours: the same name, or the only one that ends as it does."""
    found: dict[str, str] = {}
    for layer in theirs:
        hit = [n for n in ours if n == layer] or [
            n for n in ours if f".{n}".endswith(f".{layer}") or f".{layer}".endswith(f".{n}")
        ]
        if len(hit) != 1 or hit[0] in found.values():
            known = f"{', '.join(ours[:10])}{', ...' if len(ours) > 10 else ''}"
            raise InvalidArgumentError(
                f"{where} has an adapter of {layer!r}, which is "
                f"{'no layer' if not hit else 'not one layer'} here; there are {known}."
            )
        found[layer] = hit[0]
    return found


def _to_peft(a: Array, b: Array, axis: int) -> tuple[Array, Array]:
    first = np.moveaxis(a, -1, 0)
    if first.ndim > 2 and axis == first.ndim - 1:  # a filter with its channels last
        first = np.moveaxis(first, -1, 1)
    second = b.T.reshape(b.shape[1], b.shape[0], *[1] * (a.ndim - 2))
    return np.ascontiguousarray(first), np.ascontiguousarray(second)


def _from_peft(
    first: Array, second: Array, adapter: Lora, key: str, where: str
) -> tuple[Array, Array]:
    own_a, own_b = adapter.a[key], adapter.b[key]
    rank = first.shape[0]
    ndim, axis = own_a.shape.rank or 0, adapter.output_axes[key]
    shape_a, shape_b = sizes_of(own_a), sizes_of(own_b)
    expected, _ = _to_peft(np.empty([*shape_a[:-1], rank]), np.empty([rank, shape_b[1]]), axis)
    if first.shape != expected.shape or second.size != rank * shape_b[1] or second.ndim != ndim:
        raise InvalidArgumentError(
            f"{where}: lora_A of shape {list(first.shape)} and lora_B of {list(second.shape)}, "
            f"expected {list(expected.shape)} and [{shape_b[1]}, {rank}] for {key!r}."
        )
    if not all(np.isfinite(x.astype(np.float64)).all() for x in (first, second)):
        raise InvalidArgumentError(f"{where}: a value is not finite.")
    kind = own_a.dtype.as_numpy_dtype
    if first.ndim > 2 and axis == first.ndim - 1:
        first = np.moveaxis(first, 1, -1)
    a = np.moveaxis(first, 0, -1)
    return a.astype(kind), second.reshape(shape_b[1], rank).T.astype(kind)


def _alpha(settings: Mapping[str, Any], given: float | None, rank: int, where: str) -> float:
    if given is not None:
        return positive("alpha", given)
    stored = settings.get("lora_alpha")
    if stored is None:
        raise InvalidArgumentError(
            f"{where} does not say its alpha, and there is no {_CONFIG} beside it: give alpha=."
        )
    number = positive(f"lora_alpha of {where}", stored)
    return number * math.sqrt(rank) if settings.get("use_rslora") else number


def _own_name(path: Path) -> str:
    return (
        path.stem
        if path.suffix == ".safetensors" and path.name != _FILE
        else (path.parent.name if path.name == _FILE else path.name)
    )


def _short(modules: Any) -> str:
    return repr(modules)[:100] if modules else "..."
