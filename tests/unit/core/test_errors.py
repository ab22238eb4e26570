"""Error classes: names, codes, built-in bases, and the two forms of the constructor."""

from __future__ import annotations

import pickle

import pytest

from tfx.core import errors
from tfx.core.source import SourceLocation

# name, gRPC status code (grpc.io/grpc/core/md_doc_statuscodes), nearest built-ins
FAMILY: list[tuple[str, int, tuple[type[Exception], ...]]] = [
    ("CancelledError", 1, (RuntimeError,)),
    ("UnknownError", 2, (RuntimeError,)),
    ("InvalidArgumentError", 3, (ValueError,)),
    ("DeadlineExceededError", 4, (TimeoutError, OSError)),
    ("NotFoundError", 5, (LookupError,)),
    ("AlreadyExistsError", 6, (FileExistsError, OSError)),
    ("PermissionDeniedError", 7, (PermissionError, OSError)),
    ("ResourceExhaustedError", 8, (MemoryError,)),
    ("FailedPreconditionError", 9, (RuntimeError,)),
    ("AbortedError", 10, (RuntimeError,)),
    ("OutOfRangeError", 11, (IndexError, LookupError)),
    ("UnimplementedError", 12, (NotImplementedError, RuntimeError)),
    ("InternalError", 13, (RuntimeError,)),
    ("UnavailableError", 14, (RuntimeError,)),
    ("DataLossError", 15, (ValueError,)),
    ("UnauthenticatedError", 16, (PermissionError,)),
]
OURS: list[tuple[str, int, tuple[type[Exception], ...]]] = [
    ("OperatorNotAllowedInGraphError", 3, (TypeError,)),
    ("NoContentsError", 3, (errors.OperatorNotAllowedInGraphError, TypeError, AttributeError)),
    ("ShapeMismatchError", 3, (errors.InvalidArgumentError, ValueError, TypeError)),
    ("DTypeMismatchError", 3, (errors.InvalidArgumentError, ValueError, TypeError)),
    ("LeakedTensorError", 3, (errors.InvalidArgumentError, TypeError)),
    ("MissingFileError", 5, (errors.NotFoundError, LookupError, FileNotFoundError, OSError)),
    ("BundleError", 15, (errors.DataLossError, ValueError)),
    ("UnsupportedVersionError", 15, (errors.BundleError,)),
]


@pytest.mark.parametrize(("name", "code", "bases"), FAMILY + OURS)
def test_class_has_its_code_and_bases(
    name: str, code: int, bases: tuple[type[Exception], ...]
) -> None:
    cls = getattr(errors, name)
    assert cls.error_code == code
    assert issubclass(cls, errors.OpError)
    for base in bases:
        with pytest.raises(base, match="what went wrong"):
            raise cls("what went wrong")


@pytest.mark.parametrize(("name", "code"), [(name, code) for name, code, _ in FAMILY])
def test_code_and_class_map_both_ways(name: str, code: int) -> None:
    cls = getattr(errors, name)
    assert errors.exception_type_from_error_code(code) is cls
    assert errors.error_code_from_exception_type(cls) == code


def test_constants_are_the_grpc_codes() -> None:
    constants = {name: value for name, value in vars(errors).items() if type(value) is int}
    assert sorted(constants.values()) == list(range(17))
    assert (constants["OK"], constants["DATA_LOSS"]) == (0, 15)


def test_no_class_has_the_code_ok() -> None:
    with pytest.raises(KeyError):
        errors.exception_type_from_error_code(errors.OK)


def test_not_found_does_not_quote_its_message() -> None:
    error = errors.NotFoundError("no signature 'x'")
    assert str(error) == "no signature 'x'"
    assert not isinstance(error, KeyError)


@pytest.mark.parametrize("name", [name for name, _, _ in FAMILY + OURS] + ["OpError"])
def test_message_is_the_text_in_both_forms(name: str) -> None:
    cls = getattr(errors, name)
    ours = cls("it's bad", op="Add", node="n1", source=SourceLocation("m.py", 3, "f"))
    theirs = cls("n1", "Add", "it's bad")
    by_name = cls("n1", "Add", message="it's bad")
    for error in (ours, theirs, by_name):
        assert str(error) == error.message == "it's bad"
        assert error.args == ("it's bad",)
        assert (error.op, error.node, error.node_def) == ("Add", "n1", "n1")
    assert ours.source is not None and ours.source.text() == "m.py:3 in f"
    assert theirs.source is None


def test_fourth_argument_is_the_code_of_that_error_only() -> None:
    assert errors.OpError(None, None, "m", errors.ABORTED).error_code == errors.ABORTED
    assert errors.OpError("m").error_code == errors.UNKNOWN


def test_message_by_name_alone() -> None:
    assert str(errors.OpError(message="m")) == "m"


@pytest.mark.parametrize("args", [(), (None, None), (1, 2, 3, 4, 5)])
def test_other_arguments_are_refused(args: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="expected one, the message"):
        errors.OpError(*args)


@pytest.mark.parametrize("name", [name for name, _, _ in FAMILY + OURS])
def test_pickle_keeps_what_it_says(name: str) -> None:
    error = getattr(errors, name)(None, "Conv", "bad", 9)
    error.source = SourceLocation("m.py", 3, "f")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), copy.op, copy.source, copy.error_code) == ("bad", "Conv", error.source, 9)


def test_tensorflow_name_of_a_leak() -> None:
    assert errors.InaccessibleTensorError is errors.LeakedTensorError
