"""``tf.train``: checkpoints, and the messages of records.

A checkpoint holds the variables of an object graph, in safetensors files with readable names.
"""

from __future__ import annotations

from typing import Any

from tfx.core.cluster_spec import ClusterSpec as ClusterSpec
from tfx.core.namespaces import MissingNameError as _MissingNameError
from tfx.core.namespaces import complete as _complete
from tfx.parsing.messages import NAMES as _MESSAGES
from tfx.parsing.messages import message_class as _message_class
from tfx.train import experimental as experimental
from tfx.train.async_save import BackgroundSave as BackgroundSave
from tfx.train.checkpoint import Checkpoint as Checkpoint
from tfx.train.coordinator import Coordinator as Coordinator
from tfx.train.latest_checkpoint_file import CheckpointState as CheckpointState
from tfx.train.latest_checkpoint_file import checkpoints_iterator as checkpoints_iterator
from tfx.train.latest_checkpoint_file import get_checkpoint_state as get_checkpoint_state
from tfx.train.latest_checkpoint_file import latest_checkpoint as latest_checkpoint
from tfx.train.manager import CheckpointManager as CheckpointManager
from tfx.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from tfx.train.options import CheckpointOptions as CheckpointOptions
from tfx.train.reader import CheckpointReader as CheckpointReader
from tfx.train.reader import list_variables as list_variables
from tfx.train.reader import load_checkpoint as load_checkpoint
from tfx.train.reader import load_variable as load_variable
from tfx.train.report import RestoreReport as RestoreReport
from tfx.train.status import CheckpointLoadStatus as CheckpointLoadStatus
from tfx.train.views import CheckpointView as CheckpointView
from tfx.train.views import TrackableView as TrackableView


def __getattr__(name: str) -> Any:
    """The messages of records: protobuf is imported when a program asks for one."""
    if name not in _MESSAGES:
        raise _MissingNameError(__name__, name)
    globals()[name] = _message_class(name)
    return globals()[name]


_complete(__name__, "experimental")
_names = globals()["__dir__"]  # which _complete has just set


def __dir__() -> list[str]:
    return sorted({*_names(), *_MESSAGES})
