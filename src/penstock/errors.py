"""One exception class per canonical status code.

A failing step raises the class of its code; `OpError` catches them all. The codes are the ones gRPC and
TensorFlow use, so they also travel between processes as plain integers.
"""

from __future__ import annotations

from typing import Any, ClassVar

from penstock import absent as _absent
from penstock.export import export

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


@export("OpError")
class OpError(Exception):
    """A step failed.

    `op` is the operation that failed and `node_def` its description; both are None if the failure does not belong to a
    single operation, and `op` alone is None if it is unknown in this process. Without an `error_code` the class's own
    code is used.
    """

    code: ClassVar[int] = UNKNOWN

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int | None = None) -> None:
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = type(self).code if error_code is None else error_code

    @property
    def message(self) -> str:
        return self._message

    @property
    def op(self) -> Any:
        return self._op

    @property
    def node_def(self) -> Any:
        return self._node_def

    @property
    def error_code(self) -> int:
        return self._error_code

    def __str__(self) -> str:
        return self._message

    def __copy__(self) -> OpError:
        """The same failure with no traceback or cause yet, to raise again elsewhere."""
        twin = type(self).__new__(type(self), self._message)
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> OpError:
        """Like `copy.copy`: copying the operation would copy its whole graph."""
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets everything except the operation, which belongs to a graph of this one."""
        return _rebuild, (type(self), self._node_def, self._message, self._error_code)


def _rebuild(kind: type[OpError], node_def: Any, message: str, error_code: int) -> OpError:
    error = kind.__new__(kind, message)
    OpError.__init__(error, node_def, None, message, error_code)
    return error


class CancelledError(OpError):
    """The step, or the queue operation it waited for, was cancelled."""

    code = CANCELLED


class UnknownError(OpError):
    """No better code describes the failure."""

    code = UNKNOWN


class InvalidArgumentError(OpError):
    """An operation received an input that it can never accept, such as a mismatched shape."""

    code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """The step exceeded the time allowed by its options."""

    code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """A file, resource or checkpoint entry does not exist."""

    code = NOT_FOUND


class AlreadyExistsError(OpError):
    """Something that was to be created already exists."""

    code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The caller may not do this, for instance write to that file."""

    code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """Memory, disk or another limited resource ran out."""

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The system is in the wrong state, for instance a variable is read before it is initialized."""

    code = FAILED_PRECONDITION


class AbortedError(OpError):
    """A conflict with a concurrent step ended this one; running it again may succeed."""

    code = ABORTED


class OutOfRangeError(OpError):
    """Input ran out: the end of a file, or a closed queue with too few elements."""

    code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """No kernel supports what was requested."""

    code = UNIMPLEMENTED


class InternalError(OpError):
    """An invariant of the system itself is broken."""

    code = INTERNAL


class UnavailableError(OpError):
    """A worker cannot currently be reached."""

    code = UNAVAILABLE


class DataLossError(OpError):
    """Stored data is truncated or corrupt."""

    code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The caller is not authenticated."""

    code = UNAUTHENTICATED


_TYPE_OF_CODE: dict[int, type[OpError]] = {
    kind.code: kind
    for kind in (
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
    """Raises KeyError for `OK` and for numbers that are not codes."""
    return _TYPE_OF_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The canonical code of an error class; `UNKNOWN` for `OpError` itself."""
    return cls.code


_absent.tell_in(__name__)
