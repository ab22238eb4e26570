"""The public error classes: TensorFlow's `tf.errors` family and a few of our own.

Owns the names and the integer codes. It must not know where errors come from: mapping a
runtime failure to one of these classes is the job of the layer that met the failure.

The design decision: each class is *also* the nearest built-in exception, so `except
ValueError` keeps working in programs which have never heard of `tfx.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tfx.core.source import SourceLocation

OK: Final = 0
CANCELLED: Final = 1
UNKNOWN: Final = 2
INVALID_ARGUMENT: Final = 3
DEADLINE_EXCEEDED: Final = 4
NOT_FOUND: Final = 5
ALREADY_EXISTS: Final = 6
PERMISSION_DENIED: Final = 7
RESOURCE_EXHAUSTED: Final = 8
FAILED_PRECONDITION: Final = 9
ABORTED: Final = 10
OUT_OF_RANGE: Final = 11
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13
UNAVAILABLE: Final = 14
DATA_LOSS: Final = 15
UNAUTHENTICATED: Final = 16


class OpError(Exception):
    """Base class of every error that tfx raises about a computation or a file of its own.

    Both `OpError("message", op=..., node=..., source=...)` and TensorFlow's positional order
    `OpError(node_def, op, message)` (with an optional error code after it) are accepted.

    Attributes:
        message: The text, which is also `str(error)`.
        op: The operation (or its type name) that failed, or None.
        node: The graph node that failed, or None. Also readable as `node_def`.
        source: Where the user's program made that node, or None.
        error_code: The gRPC status code of the class, an integer.

    Example:
        >>> str(OpError("no such file: 'a.onnx'", op="LoadModel"))
        "no such file: 'a.onnx'"
        >>> OpError(None, None, "TensorFlow's order").message
        "TensorFlow's order"
    """

    error_code: int = UNKNOWN

    def __init__(
        self,
        *args: Any,
        message: str | None = None,
        op: Any = None,
        node: Any = None,
        source: SourceLocation | None = None,
        node_def: Any = None,
        error_code: int | None = None,
    ) -> None:
        """Makes the error from `(message,)` or from `(node_def, op, message[, error_code])`.

        Args:
            *args: The message alone, or TensorFlow's three or four positional arguments.
            message: The message, for callers that name it.
            op: The operation that failed.
            node: The graph node that failed.
            source: The user's file and line.
            node_def: TensorFlow's name of ``node``.
            error_code: The status code, if it is another than that of the class.

        Raises:
            TypeError: If the positional arguments have neither form.
        """
        node = node_def if node is None else node
        if error_code is not None:
            self.error_code = int(error_code)
        if len(args) == 1 and message is None:
            (message,) = args
        elif len(args) in (3, 4) and message is None:
            node = args[0] if node is None else node
            op = args[1] if op is None else op
            message = args[2]
            if len(args) == 4:
                self.error_code = int(args[3])
        elif len(args) == 2 and message is not None:
            node, op = args  # TensorFlow's order with the message by name
        elif args or message is None:
            raise TypeError(
                f"{type(self).__name__} got {len(args)} positional arguments {args!r}; expected "
                "one, the message, or TensorFlow's (node_def, op, message)"
            )
        text = str(message)
        super().__init__(text)
        self.message = text
        self.op = op
        self.node = node
        self.source = source

    @property
    def node_def(self) -> Any:
        """TensorFlow's name for `node`."""
        return self.node

    @property
    def experimental_payloads(self) -> dict[str, bytes]:
        """What TensorFlow's servers add to an error: nothing here."""
        return {}

    def __str__(self) -> str:
        # KeyError- and OSError-like bases format their arguments; the message is the contract.
        return self.message


class CancelledError(OpError, RuntimeError):
    """The computation was cancelled before it finished."""

    error_code = CANCELLED


class UnknownError(OpError, RuntimeError):
    """Something failed and the layer below did not say what."""

    error_code = UNKNOWN


class InvalidArgumentError(OpError, ValueError):
    """An argument has a value, shape or dtype that the operation cannot take."""

    error_code = INVALID_ARGUMENT


class DeadlineExceededError(OpError, TimeoutError):
    """The computation did not finish in the time it was given."""

    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError, LookupError):
    """A file, variable, signature or other named thing does not exist."""

    error_code = NOT_FOUND


class AlreadyExistsError(OpError, FileExistsError):
    """The thing to be made is there already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError, PermissionError):
    """The operating system refuses the access."""

    error_code = PERMISSION_DENIED


class UnauthenticatedError(OpError, PermissionError):
    """The caller has not shown who it is."""

    error_code = UNAUTHENTICATED


class ResourceExhaustedError(OpError, MemoryError):
    """Memory, or another limited resource, has run out."""

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError, RuntimeError):
    """The system is not in the state that the operation needs, such as an unset variable."""

    error_code = FAILED_PRECONDITION


class AbortedError(OpError, RuntimeError):
    """The operation was stopped by a conflict with another one; it may be tried again."""

    error_code = ABORTED


class OutOfRangeError(OpError, IndexError):
    """An index or an iteration went past the end."""

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError, NotImplementedError):
    """The runtime, or a device of it, has no such operation for these types."""

    error_code = UNIMPLEMENTED


class InternalError(OpError, RuntimeError):
    """An invariant is broken: a bug here or in the runtime, not in the user's program."""

    error_code = INTERNAL


class UnavailableError(OpError, RuntimeError):
    """A device or service is not there at present."""

    error_code = UNAVAILABLE


class DataLossError(OpError, ValueError):
    """Stored data is damaged, truncated or not what it claims to be."""

    error_code = DATA_LOSS


class OperatorNotAllowedInGraphError(OpError, TypeError):
    """Python asked a traced tensor for its value, which exists only when the graph runs.

    Raised by `bool(t)`, `int(t)`, `for x in t` and the like under `tfx.function`.
    """

    error_code = INVALID_ARGUMENT


class NoContentsError(OperatorNotAllowedInGraphError, AttributeError):
    """`tensor.numpy` was called on a traced tensor; `hasattr(tensor, "numpy")` is False."""


class DTypeMismatchError(InvalidArgumentError, TypeError):
    """Operands have different dtypes; nothing is converted silently, `tfx.cast` does it.

    TensorFlow raises InvalidArgumentError for this in eager mode and TypeError under a
    function; this class is both.
    """


class ShapeMismatchError(InvalidArgumentError, TypeError):
    """A tensor argument has a shape that the function's signature does not take.

    TensorFlow raises TypeError for this where the function has an `input_signature`, and
    InvalidArgumentError for a concrete function; this class is both.
    """


class ConversionError(TypeError, ValueError):
    """A value is of a type that cannot become a tensor.

    TensorFlow raises ValueError for this in eager mode and TypeError under a function; this class
    is both.
    """


class LeakedTensorError(InvalidArgumentError, TypeError):
    """A traced tensor was used after, or outside of, the trace that made it.

    Return the tensor from the function, or keep it in a `tfx.Variable`.
    """


InaccessibleTensorError = LeakedTensorError  # TensorFlow's name


class MissingFileError(NotFoundError, FileNotFoundError):
    """A file or folder that was named does not exist.

    TensorFlow raises NotFoundError for this in some places and OSError in others; this class is
    both.
    """


class BundleError(DataLossError):
    """A bundle on disk breaks the format; the message names the file and what is wrong."""


class UnsupportedVersionError(BundleError):
    """A bundle was written by a newer format version, or needs a feature unknown here."""


_BY_CODE: Final[dict[int, type[OpError]]] = {
    cls.error_code: cls
    for cls in (
        CancelledError,
        UnknownError,
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        ResourceExhaustedError,
        FailedPreconditionError,
        AbortedError,
        OutOfRangeError,
        UnimplementedError,
        InternalError,
        UnavailableError,
        DataLossError,
        UnauthenticatedError,
    )
}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Returns the class whose code is `error_code`.

    Args:
        error_code: One of the module's constants, `CANCELLED` (1) to `UNAUTHENTICATED` (16).

    Returns:
        The exception class.

    Raises:
        KeyError: If no class has this code, as for `OK`.

    Example:
        >>> exception_type_from_error_code(INVALID_ARGUMENT).__name__
        'InvalidArgumentError'
    """
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Returns the code of the class `cls`; the inverse of the function above.

    Args:
        cls: An OpError class.

    Returns:
        Its integer code.

    Example:
        >>> error_code_from_exception_type(OutOfRangeError)
        11
    """
    return cls.error_code
