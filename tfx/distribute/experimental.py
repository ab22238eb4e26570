"""``tf.distribute.experimental``: names that strategies had before."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.distribute.default import ValueContext as ValueContext
from tfx.distribute.multi_worker import CentralStorageStrategy as CentralStorageStrategy
from tfx.distribute.multi_worker import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from tfx.distribute.one_device import TPUStrategy as TPUStrategy
from tfx.distribute.options import CommunicationImplementation as CollectiveCommunication
from tfx.distribute.options import CommunicationImplementation as CommunicationImplementation
from tfx.distribute.options import CommunicationOptions as CommunicationOptions

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "TPUStrategy",
    "ValueContext",
]

_complete(__name__)
