"""``tf.data``: pipelines of elements, from arrays, files and Python generators.

A ``Dataset`` says what to do; iterating over it does it. NumPy and threads are all that it stands
on: grain, which was considered, brings a data model of its own and a dozen packages.
"""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.data import experimental as experimental
from tfx.data.dataset import Dataset as Dataset
from tfx.data.dataset import FixedLengthRecordDataset as FixedLengthRecordDataset
from tfx.data.dataset import TextLineDataset as TextLineDataset
from tfx.data.dataset import TFRecordDataset as TFRecordDataset
from tfx.data.iterators import Iterator as Iterator
from tfx.data.iterators import IteratorSpec as IteratorSpec
from tfx.data.iterators import NumpyIterator as NumpyIterator
from tfx.data.nodes import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from tfx.data.nodes import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from tfx.data.options import Options as Options
from tfx.data.options import ThreadingOptions as ThreadingOptions
from tfx.data.parallel import AUTOTUNE as AUTOTUNE
from tfx.data.structure import DatasetSpec as DatasetSpec
from tfx.data.structure import NoneTensorSpec as NoneTensorSpec

_complete(__name__, "experimental")
