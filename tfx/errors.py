"""``tf.errors``: the exceptions and their codes."""

from __future__ import annotations

from tfx.core.errors import ABORTED as ABORTED
from tfx.core.errors import ALREADY_EXISTS as ALREADY_EXISTS
from tfx.core.errors import CANCELLED as CANCELLED
from tfx.core.errors import DATA_LOSS as DATA_LOSS
from tfx.core.errors import DEADLINE_EXCEEDED as DEADLINE_EXCEEDED
from tfx.core.errors import FAILED_PRECONDITION as FAILED_PRECONDITION
from tfx.core.errors import INTERNAL as INTERNAL
from tfx.core.errors import INVALID_ARGUMENT as INVALID_ARGUMENT
from tfx.core.errors import NOT_FOUND as NOT_FOUND
from tfx.core.errors import OK as OK
from tfx.core.errors import OUT_OF_RANGE as OUT_OF_RANGE
from tfx.core.errors import PERMISSION_DENIED as PERMISSION_DENIED
from tfx.core.errors import RESOURCE_EXHAUSTED as RESOURCE_EXHAUSTED
from tfx.core.errors import UNAUTHENTICATED as UNAUTHENTICATED
from tfx.core.errors import UNAVAILABLE as UNAVAILABLE
from tfx.core.errors import UNIMPLEMENTED as UNIMPLEMENTED
from tfx.core.errors import UNKNOWN as UNKNOWN
from tfx.core.errors import AbortedError as AbortedError
from tfx.core.errors import AlreadyExistsError as AlreadyExistsError
from tfx.core.errors import BundleError as BundleError
from tfx.core.errors import CancelledError as CancelledError
from tfx.core.errors import ConversionError as ConversionError
from tfx.core.errors import DataLossError as DataLossError
from tfx.core.errors import DeadlineExceededError as DeadlineExceededError
from tfx.core.errors import DTypeMismatchError as DTypeMismatchError
from tfx.core.errors import FailedPreconditionError as FailedPreconditionError
from tfx.core.errors import InaccessibleTensorError as InaccessibleTensorError
from tfx.core.errors import InternalError as InternalError
from tfx.core.errors import InvalidArgumentError as InvalidArgumentError
from tfx.core.errors import LeakedTensorError as LeakedTensorError
from tfx.core.errors import NoContentsError as NoContentsError
from tfx.core.errors import NotFoundError as NotFoundError
from tfx.core.errors import OperatorNotAllowedInGraphError as OperatorNotAllowedInGraphError
from tfx.core.errors import OpError as OpError
from tfx.core.errors import OutOfRangeError as OutOfRangeError
from tfx.core.errors import PermissionDeniedError as PermissionDeniedError
from tfx.core.errors import ResourceExhaustedError as ResourceExhaustedError
from tfx.core.errors import ShapeMismatchError as ShapeMismatchError
from tfx.core.errors import UnauthenticatedError as UnauthenticatedError
from tfx.core.errors import UnavailableError as UnavailableError
from tfx.core.errors import UnimplementedError as UnimplementedError
from tfx.core.errors import UnknownError as UnknownError
from tfx.core.errors import UnsupportedVersionError as UnsupportedVersionError
from tfx.core.errors import error_code_from_exception_type as error_code_from_exception_type
from tfx.core.errors import exception_type_from_error_code as exception_type_from_error_code
from tfx.core.namespaces import complete as _complete

_complete(__name__)
