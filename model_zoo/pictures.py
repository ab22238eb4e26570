"""Images as tiles of one picture."""

from __future__ import annotations

from typing import Any

import numpy as np


def tiles(axes: Any, images: np.ndarray, columns: int, title: str) -> None:
    """Draw images of grey levels into axes of matplotlib, row by row.

    Args:
        axes: Of matplotlib.
        images: ``[n, height, width]`` in [0, 1]; as many as fill whole rows.
        columns: Images in a row.
        title: Above them.
    """
    height, width = images.shape[1:]
    padded = np.pad(images.reshape(-1, columns, height, width), [(0, 0), (0, 0), (1, 0), (1, 0)])
    sheet = padded.transpose(0, 2, 1, 3).reshape(-1, columns * (width + 1))
    axes.imshow(sheet, cmap="gray_r", vmin=0, vmax=1)
    axes.set_axis_off()
    axes.set_title(title)
