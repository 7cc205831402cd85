"""Error classes: their codes, what they carry, and that they can be copied."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from penstock import errors

CANONICAL = {
    1: "CancelledError",
    2: "UnknownError",
    3: "InvalidArgumentError",
    4: "DeadlineExceededError",
    5: "NotFoundError",
    6: "AlreadyExistsError",
    7: "PermissionDeniedError",
    8: "ResourceExhaustedError",
    9: "FailedPreconditionError",
    10: "AbortedError",
    11: "OutOfRangeError",
    12: "UnimplementedError",
    13: "InternalError",
    14: "UnavailableError",
    15: "DataLossError",
    16: "UnauthenticatedError",
}


@pytest.mark.parametrize(("code", "name"), CANONICAL.items())
def test_each_canonical_code_has_its_class(code: int, name: str) -> None:
    kind = errors.exception_type_from_error_code(code)
    assert kind.__name__ == name
    assert kind is getattr(errors, name)
    assert kind(None, None, "m").error_code == code
    assert errors.error_code_from_exception_type(kind) == code


@pytest.mark.parametrize("code", [errors.OK, 17, -1])
def test_other_codes_have_no_class(code: int) -> None:
    with pytest.raises(KeyError):
        errors.exception_type_from_error_code(code)


def test_an_error_carries_its_node_operation_and_message() -> None:
    node_def, op = SimpleNamespace(name="n"), SimpleNamespace(name="n")
    error = errors.InvalidArgumentError(node_def, op, "sizes 3 and 4")
    assert (error.node_def, error.op, error.message) == (node_def, op, "sizes 3 and 4")
    assert str(error) == "sizes 3 and 4"
    assert repr(error) == "InvalidArgumentError('sizes 3 and 4')"


def test_an_op_error_has_the_code_it_is_given_and_else_unknown() -> None:
    assert errors.OpError(None, None, "m", errors.ABORTED).error_code == 10
    assert errors.OpError(None, None, "m").error_code == errors.UNKNOWN


def test_op_error_catches_them_all_and_siblings_do_not_catch_each_other() -> None:
    with pytest.raises(errors.OpError):
        raise errors.OutOfRangeError(None, None, "end of queue")
    assert not issubclass(errors.OutOfRangeError, errors.InvalidArgumentError)


def test_the_parts_of_an_error_cannot_be_replaced() -> None:
    error = errors.InternalError(None, None, "m")
    with pytest.raises(AttributeError):
        error.message = "other"  # type: ignore[misc]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_keeps_everything_but_the_traceback(
    duplicate: Callable[[errors.OpError], errors.OpError],
) -> None:
    op = SimpleNamespace(name="n")
    with pytest.raises(errors.OpError) as raised:
        raise errors.OpError(None, op, "m", errors.DATA_LOSS)
    twin = duplicate(raised.value)
    assert twin is not raised.value
    assert type(twin) is errors.OpError
    assert (twin.op, str(twin), twin.error_code) == (op, "m", errors.DATA_LOSS)
    assert twin.op is op
    assert twin.__traceback__ is None


def test_an_error_sent_to_another_process_leaves_its_operation_behind() -> None:
    unpicklable = (part for part in "graph")
    error = pickle.loads(pickle.dumps(errors.AbortedError("node", unpicklable, "worker restarted")))
    assert type(error) is errors.AbortedError
    assert (error.node_def, error.op, error.message, error.error_code) == (
        "node",
        None,
        "worker restarted",
        10,
    )


def test_code_constants_name_the_code_of_their_class() -> None:
    for code, name in CANONICAL.items():
        words = "".join("_" + c if c.isupper() else c for c in name.removesuffix("Error")).lstrip("_")
        assert getattr(errors, words.upper()) == code
