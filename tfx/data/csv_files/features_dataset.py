"""``make_batched_features_dataset``: the features of Examples in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfx.data.csv_files.columns import matching
from tfx.data.dataset import Dataset, TFRecordDataset
from tfx.data.parallel import AUTOTUNE
from tfx.parsing.parse_example import parse_example


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[..., Any] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of the features of Examples in files.

    Args:
        file_pattern: A file or pattern, or a list of them.
        batch_size: How many Examples a batch has.
        features: As for ``tf.io.parse_example``.
        reader: Makes a dataset of strings of the files' names; None: ``TFRecordDataset``.
        label_key: A feature that stands beside the dictionary, as the label.
        reader_args: More arguments for ``reader``.
        num_epochs: How often the Examples are gone through; None: for ever.
        shuffle: Whether Examples are shuffled.
        shuffle_buffer_size: Size of the buffer.
        shuffle_seed: Makes the order reproducible.
        prefetch_buffer_size: How many batches are fetched ahead; None: one at least.
        reader_num_threads: Accepted for compatibility.
        parser_num_threads: Accepted for compatibility.
        sloppy_ordering: Accepted for compatibility.
        drop_final_batch: Leave out a last batch that is smaller.

    Returns:
        A dataset of dictionaries; with ``label_key`` of pairs of a dictionary and the label.

    Raises:
        ValueError: no files, or an unknown label.
    """
    files = matching(file_pattern)
    if label_key is not None and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key}) must be one of the features keys."
        )
    data = (reader or TFRecordDataset)(files, *(reader_args or ()))
    if shuffle:
        data = data.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        data = data.repeat(num_epochs)
    data = data.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)

    def parse(texts: Any) -> Any:
        found = parse_example(texts, features)
        return found if label_key is None else (found, found.pop(label_key))

    ahead = AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size
    return data.map(parse).prefetch(ahead)
