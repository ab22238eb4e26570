"""The comparison as bars: how quick, and how large, beside tfx. Needs matplotlib (extra zoo)."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs"
_TITLES = {
    "train": "Training, steps a second over those of tfx",
    "infer": "Inference, batches a second over those of tfx",
    "memory": "Peak memory of training over that of tfx (less is better)",
}
_COLORS = {"tfx": "#1f6f8b", "tensorflow": "#f2a154", "torch": "#d3524d", "jax": "#8e8e8e"}


def require_matplotlib() -> None:
    """Ask before there is anything to draw.

    Raises:
        ImportError: matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError('The bars need matplotlib: pip install "tfx-onnx[zoo]"')


def write(
    bars: Mapping[str, Mapping[str, Mapping[str, float]]],
    names: Mapping[str, str],
    folder: Path = FOLDER,
) -> list[Path]:
    """Draw ``zoo-train.png``, ``zoo-infer.png`` and ``zoo-memory.png``.

    Args:
        bars: Picture -> program -> peer -> milliseconds or megabytes.
        names: How peers are called.
        folder: Where they go.

    Returns:
        The files.

    Raises:
        ImportError: matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    files = []
    for picture, programs in bars.items():
        if not programs:
            continue
        figure = Figure(figsize=(9, 3.4), layout="constrained", dpi=80)
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        width = 0.8 / len(names)
        for number, (peer, name) in enumerate(names.items()):
            heights = {p: _height(picture, v, peer) for p, v in programs.items() if peer in v}
            places = [list(programs).index(p) + (number - 1.5) * width for p in heights]
            color = _COLORS.get(peer)
            drawn = axes.bar(places, list(heights.values()), width, label=name, color=color)
            axes.bar_label(drawn, fmt="%.2g", fontsize=7)
        axes.axhline(1.0, color="black", linewidth=0.6)
        axes.set_xticks(range(len(programs)), [p.replace("_", " ") for p in programs])
        axes.set_title(_TITLES[picture], fontsize=10)
        axes.legend(fontsize=8, ncols=len(names))
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        files.append(folder / f"zoo-{picture}.png")
        # Without a date or a version: the same numbers are the same file.
        figure.savefig(files[-1], metadata={"Software": None}, pil_kwargs={"optimize": True})
    return files


def _height(picture: str, values: Mapping[str, float], peer: str) -> float:
    ours = values.get("tfx", values[peer])
    return values[peer] / ours if picture == "memory" else ours / values[peer]
