"""``convert``: a bundle or an ONNX file as another bundle, an archive, or one ONNX file.

Owns which of these is meant, and the calibration data. The one decision: everything goes through a
folder, so each form is made by the code that makes it elsewhere (``save_onnx``, ``freeze``,
``bundle.archive``), and is measured in the same way.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tfx.bundle.archive import is_archive, opened_folder, pack
from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.exporters.convert_bundle import (
    NARROW,
    Batches,
    Conversion,
    Measured,
    Narrow,
    convert_folder,
)
from tfx.exporters.freeze_bundle import freeze_one
from tfx.exporters.from_onnx import save_onnx
from tfx.loaders import Bundle
from tfx.loaders.open_files import Sources
from tfx.loaders.replay_examples import Replayer
from tfx.loaders.signature import DEFAULT_SIGNATURE, SignatureInfo, bind, find_signature

ARCHIVES = (".tfx", ".zip")
"""Ends of the names of archives."""

Calibration = bool | str | os.PathLike[str] | Mapping[str, Any]


def convert(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    opset: int | None = None,
    dtype: Narrow | None = None,
    calibrate: Calibration | None = None,
    signature: str | None = None,
) -> Conversion:
    """Write a model in another form: at another opset, with narrower numbers, as one file.

    Inputs and outputs stay as they are. What is new is run on the golden examples of the old bundle
    (or on made up inputs, where there are none), and how far the results are off is told; the new
    bundle's own examples have the same inputs and what it gives itself.

    Args:
        source: A bundle's folder, an archive of a bundle, or an ``.onnx`` file.
        out: What to make or replace: ``NAME.onnx`` is one self-contained model of one signature,
            ``NAME.tfx`` or ``NAME.zip`` an archive, anything else a bundle's folder.
        opset: Version of the standard operators. Everything of the bundle is kept but the gradients
            that parts of functions have of their own.
        dtype: "float16" computes in it, "bfloat16" stores the weights in it and computes in
            float32, "int8" has matrix products and convolutions with 8-bit weights. The result has
            signatures alone, and none that updates variables.
        calibrate: For "int8": quantize activations too, in QDQ format, with ranges measured from
            these inputs: True for the bundle's examples, or inputs by name, or the path of an
            ``.npz`` file of them. An array with one axis more than the input holds several calls.
        signature: Which one ``NAME.onnx`` is of; None: "serving_default", or the only one.

    Returns:
        Sizes, and how far each signature is off.

    Raises:
        NotFoundError: there is no such source, or signature.
        BundleError: it is damaged.
        InvalidArgumentError: nothing is to be done; an option is unknown, or does not fit others;
            calibration data does not fit.
        UnimplementedError: a model cannot be converted; the message has the tool's reason.
        AlreadyExistsError: ``out`` is something that is not of the form to be made.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> f = tf.function(lambda x: x + 1.0)
        >>> model = f.get_concrete_function(tf.TensorSpec([None], tf.float32)).as_onnx()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.exporters.save_onnx(model, folder + "/m")
        ...     made = convert(folder + "/m", folder + "/m.tfx")
        ...     tf.saved_model.load(folder + "/m.tfx").signatures["serving_default"](
        ...         tf.constant([1.0])
        ...     )
        {'output_0': <tf.Tensor: shape=(1,), dtype=float32, numpy=array([2.], dtype=float32)>}
    """
    form = _form_of(out)
    _check(source, out, form, opset, dtype, calibrate, signature)
    with _as_bundle(source) as bundle, tempfile.TemporaryDirectory(prefix="tfx-") as room:
        only = _chosen(bundle, signature) if form == "onnx" else None
        if opset is None and dtype is None:
            made, folder = _as_it_is(bundle, only), bundle
            if form == "folder":
                _copy(bundle, out)
        else:
            folder = Path(out) if form == "folder" else Path(room, "bundle")
            batches = _batches(bundle, calibrate)
            made = convert_folder(
                bundle, folder, opset=opset, dtype=dtype, batches=batches, only=only
            )
        if form == "archive":
            made.after = pack(folder, out).stat().st_size
        elif only is not None:
            _refuse_unconverted(made, only)
            made.after = sum(p.stat().st_size for p in freeze_one(folder, out, only))
        return made


def _form_of(out: str | os.PathLike[str]) -> str:
    suffix = Path(out).suffix.lower()
    return "onnx" if suffix == ".onnx" else "archive" if suffix in ARCHIVES else "folder"


def _check(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    form: str,
    opset: int | None,
    dtype: str | None,
    calibrate: Calibration | None,
    signature: str | None,
) -> None:
    if dtype is not None and dtype not in NARROW:
        raise InvalidArgumentError(f"dtype is {dtype!r}, expected one of {', '.join(NARROW)}")
    if calibrate is not None and calibrate is not False and dtype != "int8":
        raise InvalidArgumentError(f"calibrate is for dtype 'int8', got the dtype {dtype!r}")
    if signature is not None and form != "onnx":
        raise InvalidArgumentError(
            f"signature is {signature!r}, which is for a single model: let the name of "
            f"{os.fspath(out)!r} end in .onnx"
        )
    if not os.path.exists(source):
        raise NotFoundError(
            f"{os.fspath(source)} does not exist, expected a bundle's folder, an archive of one "
            "or an .onnx file"
        )
    is_folder = os.path.isdir(source)
    if opset is None and dtype is None and form == "folder" and is_folder:
        raise InvalidArgumentError(
            "neither opset nor dtype is given, and a bundle's folder would stay as it is; expected "
            "at least one, or another form: NAME.onnx, NAME.tfx"
        )
    if form != "folder" and os.path.isdir(out):
        raise InvalidArgumentError(f"{os.fspath(out)} is a folder, expected the name of a file")
    if not is_folder and os.path.exists(out) and os.path.samefile(source, out):
        raise InvalidArgumentError(f"{os.fspath(out)} is the source; choose another name")


@contextmanager
def _as_bundle(source: str | os.PathLike[str]) -> Iterator[Path]:
    """The folder of a bundle of the source."""
    if os.path.isdir(source) or is_archive(source):
        with opened_folder(source) as folder:
            yield folder
        return
    with tempfile.TemporaryDirectory(prefix="tfx-") as room:
        folder = Path(room, "bundle")
        save_onnx(os.fspath(source), folder)
        yield folder


def _as_it_is(bundle: Path, only: str | None) -> Conversion:
    sources = Sources(bundle, verify=True)
    try:
        names = [s.name for s in sources.manifest.signatures if only in (None, s.name)]
        made = Conversion(before=sum(item.size for item in sources.manifest.files))
        made.signatures = [Measured(name, True, "the same graph") for name in names]
        made.after = made.before
        return made
    finally:
        sources.close()


def _copy(bundle: Path, out: str | os.PathLike[str]) -> None:
    """A bundle in a folder that is there all at once."""
    with Bundle.open(bundle) as opened:
        opened.save(out)


def _chosen(bundle: Path, signature: str | None) -> str:
    sources = Sources(bundle, verify=False)
    try:
        infos = Replayer(sources).signatures
        if signature is not None:
            return find_signature(infos, signature, str(sources.path)).name
        if DEFAULT_SIGNATURE in infos or len(infos) == 1:
            return DEFAULT_SIGNATURE if DEFAULT_SIGNATURE in infos else next(iter(infos))
        names = ", ".join(infos) or "none"
        raise InvalidArgumentError(f"{bundle} has the signatures {names}; choose one by signature")
    finally:
        sources.close()


def _refuse_unconverted(made: Conversion, name: str) -> None:
    for item in made.signatures:
        if item.name == name and not item.is_converted:
            raise InvalidArgumentError(f"signature {name!r} is not converted: it {item.detail}")


# Calibration


def _batches(bundle: Path, calibrate: Calibration | None) -> Batches | None:
    """Something that gives a signature's inputs for calibration."""
    if calibrate is None or calibrate is False:
        return None
    if calibrate is True:
        return lambda info: _of_examples(bundle, info)
    if isinstance(calibrate, Mapping):
        arrays, where = dict(calibrate), "calibrate"
    else:
        arrays, where = _read(calibrate), os.fspath(calibrate)
    return lambda info: _of_arrays(arrays, info, where)


def _of_examples(bundle: Path, info: SignatureInfo) -> Sequence[Mapping[str, Any]]:
    sources = Sources(bundle, verify=False)
    try:
        replayer = Replayer(sources)
        mine = [e for e in sources.manifest.examples if e.signature == info.name]
        given = [e for e in mine if e.is_given] or mine
        found = [inputs for e in given for inputs, _ in replayer.stored_calls(e)]
    finally:
        sources.close()
    if not found:
        raise InvalidArgumentError(
            f"the bundle has no example of signature {info.name!r} to calibrate with; give inputs "
            "in an .npz file"
        )
    return found


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arrays of an ``.npz`` file, without pickles."""
    try:
        file = np.load(path, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise InvalidArgumentError(
                f"{os.fspath(path)} has one array, expected an .npz file with one for each input"
            )
        with file:
            return {name: file[name] for name in file.files}
    except InvalidArgumentError:  # a ValueError, too
        raise
    except FileNotFoundError as e:
        raise NotFoundError(f"{os.fspath(path)} does not exist, expected an .npz file") from e
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as e:
        raise InvalidArgumentError(
            f"{os.fspath(path)} cannot be read as an .npz file of numbers: {e}"
        ) from e


def _of_arrays(
    arrays: Mapping[str, Any], info: SignatureInfo, where: str
) -> Sequence[Mapping[str, Any]]:
    """Calls from arrays, which may have an axis of calls in front."""
    missing = [name for name in info.inputs if name not in arrays]
    if missing:
        raise InvalidArgumentError(
            f"{where} lacks {', '.join(map(repr, missing))} of signature {info.name!r}; it has "
            f"{', '.join(map(repr, arrays)) or 'nothing'}"
        )
    counts: dict[str, int | None] = {}
    given = {name: np.asarray(arrays[name]) for name in info.inputs}
    for name, spec in info.inputs.items():
        rank = None if spec.shape is None else len(spec.shape)
        many = rank is not None and given[name].ndim == rank + 1
        counts[name] = len(given[name]) if many else None
    numbers = {n for n in counts.values() if n is not None}
    if len(numbers) > 1 or 0 in numbers:
        shown = ", ".join(f"{name}: {n}" for name, n in counts.items() if n is not None)
        raise InvalidArgumentError(
            f"{where} has different numbers of calls ({shown}), expected the same, at least 1"
        )
    calls = [
        {name: a[i] if counts[name] is not None else a for name, a in given.items()}
        for i in range(max(numbers, default=1))
    ]
    return [bind(info, call) for call in calls]
