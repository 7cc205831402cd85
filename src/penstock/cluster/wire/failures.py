"""Exceptions as values: what a call raised there is raised here, with the traceback from there below it."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

from penstock import errors


class RemoteTraceback(Exception):
    """The cause of an exception that another process raised; its text is the traceback there."""

    def __str__(self) -> str:
        return "\n" + self.args[0]


def encode_failure(error: BaseException, task: str) -> tuple[bytes | None, str, str, str]:
    """(the exception pickled, if it can be, its type, its message, the traceback with the task that raised it)."""
    text = f"in {task}:\n" + "".join(traceback.format_exception(error))
    return _pickled(error), type(error).__qualname__, str(error), text.rstrip()


def _pickled(error: BaseException) -> bytes | None:
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        return None  # these would end the caller, whom nobody interrupted
    try:
        return pickle.dumps(error, 5)
    except Exception:
        if not isinstance(error, errors.OpError):
            return None
    try:
        # What cannot be pickled is what describes the node.
        return pickle.dumps(type(error)(None, None, error.message, error.error_code), 5)
    except Exception:
        return None


def decode_failure(failure: tuple[bytes | None, str, str, str]) -> BaseException:
    """The exception to raise here: of the same type if that exists here, otherwise an UnknownError that names it."""
    pickled, kind, message, text = failure
    error: Any = None
    if pickled is not None:
        try:
            error = pickle.loads(pickled)
        except Exception:  # its class is missing here, or takes other arguments than it keeps
            error = None
    if not isinstance(error, Exception):
        error = errors.UnknownError(None, None, f"{kind}: {message}")
    error.__cause__ = RemoteTraceback(text)
    return error
