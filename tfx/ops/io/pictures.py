"""Images in the formats of files that Pillow reads: JPEG, GIF, BMP; PNG files are read here."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import as_int64, static_ints, tensor
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.python_ops import by_python
from tfx.ops.image.color import convert_image_dtype
from tfx.ops.io.png import decoded_png
from tfx.ops.strings.strings import one_text

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
# What files begin with, and what Pillow calls the format.
_FORMATS = {b"\xff\xd8\xff": "JPEG", b"GIF8": "GIF", b"BM": "BMP"}
# The numbers of channels that can be asked for.
_CHANNELS = {"JPEG": (0, 1, 3), "GIF": (0, 3), "BMP": (0, 3, 4)}
_PNG = b"\x89PNG"


def _contents(contents: Any) -> Tensor:
    """The bytes of a file: of a tensor of unknown rank it is taken that it holds one."""
    return of_rank(tensor(contents), 0)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The image in the bytes of a PNG, JPEG, GIF or BMP file, whichever it is.

    Args:
        contents: A scalar string.
        channels: 1: grey, 3: RGB, 4: RGBA; 0 or None: as in the file.
        dtype: uint8, uint16 or a floating dtype, whose numbers go from 0 to 1.
        name: Accepted for compatibility.
        expand_animations: Give all frames of a GIF file, ``[frames, height, width, 3]``; else the
            first.

    Returns:
        ``[height, width, channels]``; in a function of unknown rank unless ``expand_animations``
        is False.

    Raises:
        InvalidArgumentError: no such file, or a broken one.
        ImportError: Pillow is not installed, and the file is no PNG file.

    Example:
        >>> import tfx as tf
        >>> data = tf.io.encode_png(tf.zeros([2, 3, 1], tf.uint8))
        >>> tf.io.decode_image(data, channels=3).shape
        TensorShape([2, 3, 3])
    """
    wanted = _channels(channels or 0, (0, 1, 3, 4))
    kind = dtypes.as_dtype(dtype)
    wide = kind is dtypes.uint16

    def decode(data: bytes) -> Any:
        if data.startswith(_PNG):
            return decoded_png(data, wanted, dtypes.uint16 if wide else dtypes.uint8)
        frames = _decoded(data, wanted, tuple(_FORMATS.values()))
        expand = expand_animations and data.startswith(b"GIF8")
        pixels = frames if expand else frames[0]
        return pixels.astype(np.uint16) * 256 if wide else pixels

    shape = None if expand_animations else (None, None, wanted or None)
    read = dtypes.uint16 if wide else dtypes.uint8
    found = _by_python("io.decode_image", contents, decode, shape, read)
    return found if kind is read else convert_image_dtype(found, kind)


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The image in the bytes of a JPEG file.

    Other decoders round otherwise: values may differ from theirs by one or two.

    Args:
        contents: A scalar string.
        channels: 1: grey, 3: RGB; 0: as in the file.
        ratio: 1, 2, 4 or 8: how many times smaller the image is made.
        fancy_upscaling: Accepted for compatibility.
        try_recover_truncated: Take a file that ends too early; what is missing is grey.
        acceptable_fraction: Accepted for compatibility.
        dct_method: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        uint8 of shape ``[height, width, channels]``.

    Raises:
        InvalidArgumentError: no such file, or a broken one.
        ImportError: Pillow is not installed.
    """
    wanted = _jpeg_channels(channels, ratio)

    def decode(data: bytes) -> Any:
        return _jpeg_pixels(data, wanted, ratio, try_recover_truncated)

    return _by_python("io.decode_jpeg", contents, decode, (None, None, wanted or None))


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A part of the image in the bytes of a JPEG file; see ``decode_jpeg``.

    Args:
        contents: A scalar string.
        crop_window: Integers ``[y, x, height, width]``, in pixels of the smaller image.
        channels: 1: grey, 3: RGB; 0: as in the file.
        ratio: 1, 2, 4 or 8: how many times smaller the image is made, before it is cut.
        fancy_upscaling: Accepted for compatibility.
        try_recover_truncated: Take a file that ends too early; what is missing is grey.
        acceptable_fraction: Accepted for compatibility.
        dct_method: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        uint8 of shape ``[height, width, channels]``.

    Raises:
        InvalidArgumentError: no such file, a broken one, or a window that is not in the image.
        ImportError: Pillow is not installed.
    """
    wanted = _jpeg_channels(channels, ratio)
    kind = "io.decode_and_crop_jpeg"
    x, window = one_text(_contents(contents), kind, "use map_fn"), as_int64(crop_window)
    if window.shape.as_list() != [4]:
        raise InvalidArgumentError(
            f"crop_window must be [y, x, height, width]; got shape {window.shape}."
        )

    def decode(data: Any, window: Any) -> list[Any]:
        pixels = _jpeg_pixels(data.item(), wanted, ratio, try_recover_truncated)
        y, x, height, width = (int(i) for i in window)
        inside = min(y, x) >= 0 and y + height <= pixels.shape[0] and x + width <= pixels.shape[1]
        if not inside or min(height, width) <= 0:
            raise InvalidArgumentError(
                f"crop_window [{y}, {x}, {height}, {width}] is not within an image of "
                f"{pixels.shape[0]} rows and {pixels.shape[1]} columns."
            )
        return [pixels[y : y + height, x : x + width]]

    known = static_ints(window)
    sizes = (None, None) if known is None else known[2:]
    shape = (*sizes, wanted or None)
    return by_python(kind, decode, [x, window], [(dtypes.uint8, shape)])[0]


def _jpeg_channels(channels: int, ratio: int) -> int:
    if ratio not in (1, 2, 4, 8):
        raise InvalidArgumentError(f"ratio must be 1, 2, 4 or 8; got {ratio!r}.")
    return _channels(channels, (0, 1, 3))


def _jpeg_pixels(data: bytes, channels: int, ratio: int, truncated: bool) -> Any:
    if data.startswith(_PNG):  # TensorFlow takes any format here, too
        return decoded_png(data, channels, dtypes.uint8)
    return _decoded(data, channels, tuple(_FORMATS.values()), ratio, truncated)[0]


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The image in the bytes of a BMP file.

    Args:
        contents: A scalar string.
        channels: 3: RGB, 4: RGBA; 0: as in the file.
        name: Accepted for compatibility.

    Returns:
        uint8 of shape ``[height, width, channels]``.

    Raises:
        InvalidArgumentError: no such file, or a broken one.
        ImportError: Pillow is not installed.
    """
    wanted = _channels(channels, (0, 3, 4))
    return _by_python(
        "io.decode_bmp",
        contents,
        lambda data: _decoded(data, wanted, ("BMP",))[0],
        (None, None, wanted or None),
    )


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """The frames in the bytes of a GIF file.

    Args:
        contents: A scalar string.
        name: Accepted for compatibility.

    Returns:
        uint8 of shape ``[frames, height, width, 3]``.

    Raises:
        InvalidArgumentError: no such file, or a broken one.
        ImportError: Pillow is not installed.
    """
    return _by_python(
        "io.decode_gif",
        contents,
        lambda data: _decoded(data, 3, ("GIF",)),
        (None, None, None, 3),
    )


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether bytes begin as those of a JPEG file do.

    Args:
        contents: A scalar string.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> bool(tf.io.is_jpeg(b"GIF89a"))
        False
    """
    x = one_text(_contents(contents), "IsJpeg", "use map_fn")
    outputs = [(dtypes.bool, ())]
    return by_python(
        "io.is_jpeg", lambda data: [np.array(data.item()[:3] == b"\xff\xd8\xff")], [x], outputs
    )[0]


def extract_jpeg_shape(
    contents: Any, output_type: DTypeLike = dtypes.int32, name: str | None = None
) -> Tensor:
    """The shape of the image in the bytes of a JPEG file, which is not decoded.

    Args:
        contents: A scalar string.
        output_type: int32 or int64.
        name: Accepted for compatibility.

    Returns:
        ``[height, width, channels]``.

    Raises:
        InvalidArgumentError: no JPEG file.
        ImportError: Pillow is not installed.

    Example:
        >>> import tfx as tf
        >>> tf.io.extract_jpeg_shape(tf.io.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8))).numpy()
        array([4, 6, 3], dtype=int32)
    """
    kind = dtypes.as_dtype(output_type)
    if kind not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"output_type must be int32 or int64; got {kind.name}.")
    x = one_text(_contents(contents), "ExtractJpegShape", "use map_fn")

    def sides(data: Any) -> list[Any]:
        return [np.array(_jpeg_shape(data.item()), kind.as_numpy_dtype)]

    return by_python("io.extract_jpeg_shape", sides, [x], [(kind, (3,))])[0]


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """An image as the bytes of a JPEG file.

    Args:
        image: uint8 of shape ``[height, width, channels]``, 1 or 3 channels.
        format: ``"grayscale"``, ``"rgb"``, or ``""``: as many channels as there are.
        quality: 0 to 100.
        progressive: Write a file that can be shown before it has arrived.
        optimize_size: Take longer for fewer bytes.
        chroma_downsampling: Keep colours at half the size.
        density_unit: ``"in"`` or ``"cm"``.
        x_density: Pixels in a unit from left to right.
        y_density: Pixels in a unit from top to bottom.
        xmp_metadata: Text to be put into the file.
        name: Accepted for compatibility.

    Returns:
        A scalar string.

    Raises:
        InvalidArgumentError: another dtype, shape, format or quality.
        ImportError: Pillow is not installed.
    """
    x = tensor(image)
    names = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}
    if x.dtype is not dtypes.uint8 or format not in names or not 0 <= quality <= 100:
        raise InvalidArgumentError(
            "encode_jpeg takes uint8, a format of '', 'grayscale' or 'rgb' and a quality of 0 to "
            f"100; got {x.dtype.name}, {format!r} and {quality!r}."
        )
    per_inch = 2.54 if density_unit == "cm" else 1

    options = {
        "quality": quality,
        "progressive": progressive,
        "optimize": optimize_size,
        "subsampling": 2 if chroma_downsampling else 0,
        "dpi": (round(x_density * per_inch), round(y_density * per_inch)),
        **({"xmp": xmp_metadata.encode()} if xmp_metadata else {}),
    }

    def encode(pixels: Any) -> list[Any]:
        return [np.array(_encoded(pixels, names[format], **options), object)]

    return by_python("io.encode_jpeg", encode, [x], [(dtypes.string, ())])[0]


def as_jpeg(pixels: Any, quality: int) -> Any:
    """Pixels, uint8 ``[height, width, 1 or 3]``, as a JPEG file of a quality shows them.

    Raises:
        InvalidArgumentError: another quality or shape.
    """
    if not 0 <= quality <= 100:
        raise InvalidArgumentError(f"jpeg_quality must be 0 to 100; got {quality}.")
    data = _encoded(pixels, (1, 3), quality=quality, subsampling=2)
    return _decoded(data, pixels.shape[-1], ("JPEG",))[0]


def _jpeg_shape(data: bytes) -> tuple[int, int, int]:
    """Height, width and channels of a JPEG file.

    Raises:
        InvalidArgumentError: it is none.
    """
    if not data.startswith(b"\xff\xd8\xff"):
        raise InvalidArgumentError("Unknown image file format: these bytes are no JPEG file.")
    pillow = _pillow()
    try:
        with pillow.open(io.BytesIO(data), formats=["JPEG"]) as picture:
            return picture.height, picture.width, len(picture.getbands())
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as e:
        raise InvalidArgumentError(f"Invalid JPEG data: {e}") from e


def _encoded(pixels: Any, channels: tuple[int, ...], **options: Any) -> bytes:
    """The bytes of a JPEG file; the options are Pillow's."""
    if pixels.ndim != 3 or pixels.shape[-1] not in channels:
        raise InvalidArgumentError(
            f"image must have a shape of [height, width, {channels} channels]; got {pixels.shape}."
        )
    picture = _pillow().fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    made = io.BytesIO()
    try:
        picture.save(made, "JPEG", **options)
    except (OSError, ValueError) as e:  # no pixels, or more than the format numbers
        raise InvalidArgumentError(f"An image of {pixels.shape} is no JPEG file: {e}.") from e
    return made.getvalue()


def _channels(channels: int, known: tuple[int, ...]) -> int:
    if channels not in known:
        raise InvalidArgumentError(f"channels must be one of {known}; got {channels!r}.")
    return channels


def _by_python(
    kind: str,
    contents: Any,
    decode: Callable[[bytes], Any],
    shape: tuple[int | None, ...] | None,
    dtype: dtypes.DType = dtypes.uint8,
) -> Tensor:
    x = one_text(_contents(contents), kind, "use map_fn")
    return by_python(kind, lambda data: [decode(data.item())], [x], [(dtype, shape)])[0]


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            "Images other than PNG files are read and written by Pillow, which is not installed: "
            "pip install pillow."
        ) from None
    return Image


def _decoded(
    data: bytes, channels: int, kinds: tuple[str, ...], ratio: int = 1, truncated: bool = False
) -> Any:
    """The frames of a file, ``[frames, height, width, channels]``."""
    kind = next((kind for begin, kind in _FORMATS.items() if data.startswith(begin)), None)
    if kind is None or kind not in kinds:
        raise InvalidArgumentError(
            f"Unknown image file format: these bytes are no {', '.join(kinds)} file."
        )
    _channels(channels, _CHANNELS[kind])
    pillow = _pillow()
    try:
        with pillow.open(io.BytesIO(data), formats=[kind]) as picture:
            return _frames(picture, channels, ratio, truncated)
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as e:
        raise InvalidArgumentError(f"Invalid {kind} data: {e}") from e


def _frames(picture: Any, channels: int, ratio: int, truncated: bool) -> Any:
    mode = _MODES.get(channels) or (picture.mode if picture.mode in _MODES.values() else "RGB")
    if picture.format == "GIF" and not channels:
        mode = "RGB"
    if ratio > 1:
        picture = picture.reduce(ratio)
    found = []
    for number in range(getattr(picture, "n_frames", 1)):
        if number:
            picture.seek(number)
        picture.load() if not truncated else _load_what_is_there(picture)
        pixels = np.asarray(picture.convert(mode))
        found.append(pixels[..., None] if pixels.ndim == 2 else pixels)
    return np.stack(found)


def _load_what_is_there(picture: Any) -> None:
    from PIL import ImageFile

    before, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, True
    try:
        picture.load()
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before
