"""``Asset``: a file that belongs to a saved object, such as a vocabulary."""

from __future__ import annotations

import os
from pathlib import Path

from tfx.core.errors import NotFoundError
from tfx.framework.convert import constant
from tfx.framework.tensor import Tensor


class Asset:
    """A file to copy into a bundle; after loading, its path inside the loaded bundle.

    Args:
        path: An existing file.

    Raises:
        NotFoundError: there is no such file.

    Example:
        >>> import pathlib, tempfile
        >>> import tfx as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "vocabulary.txt")
        ...     _ = path.write_text("a b c")
        ...     tf.saved_model.Asset(path).path.name
        'vocabulary.txt'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise NotFoundError(f"Asset file {str(path)!r} does not exist.")

    @property
    def asset_path(self) -> Tensor:
        """The path as a string tensor."""
        return constant(str(self.path))

    def __repr__(self) -> str:
        return f"Asset({str(self.path)!r})"
