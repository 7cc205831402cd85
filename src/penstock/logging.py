"""tf.logging, on Python's own: the logger is called "penstock"."""

from __future__ import annotations

import logging as _logging
import sys
from collections import Counter
from typing import Any

from penstock import absent as _absent

DEBUG, INFO, WARN, ERROR, FATAL = (
    _logging.DEBUG,
    _logging.INFO,
    _logging.WARNING,
    _logging.ERROR,
    _logging.CRITICAL,
)

_logger = _logging.getLogger("penstock")
if _logger.level == _logging.NOTSET:  # the program may have set it before tf.logging was loaded
    _logger.setLevel(WARN)
_counts: Counter[tuple[Any, ...]] = Counter()
_CALLER = {"stacklevel": 2}  # records name the program's line


def get_logger() -> _logging.Logger:
    """The logger; it writes to stderr itself only if the program has not set up a handler (TF: tf.get_logger)."""
    if not _logger.handlers and not _logging.getLogger().handlers:
        handler = _logging.StreamHandler(sys.stderr)
        handler.setFormatter(_logging.Formatter("%(levelname)s:penstock:%(message)s"))
        _logger.addHandler(handler)
        _logger.propagate = False
    return _logger


def set_verbosity(v: int) -> None:
    """Messages below level `v` are dropped; the default is WARN (TF: tf.logging.set_verbosity)."""
    _logger.setLevel(v)


def get_verbosity() -> int:
    """The level set (TF: tf.logging.get_verbosity)."""
    return _logger.level


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log `msg % args` at `level` (TF: tf.logging.log)."""
    get_logger().log(level, msg, *args, **_CALLER | kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at DEBUG (TF: tf.logging.debug)."""
    get_logger().debug(msg, *args, **_CALLER | kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at INFO (TF: tf.logging.info)."""
    get_logger().info(msg, *args, **_CALLER | kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at WARN (TF: tf.logging.warning)."""
    get_logger().warning(msg, *args, **_CALLER | kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at ERROR (TF: tf.logging.error)."""
    get_logger().error(msg, *args, **_CALLER | kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at FATAL; the program goes on (TF: tf.logging.fatal)."""
    get_logger().critical(msg, *args, **_CALLER | kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log `msg % args` at `level`, for which a program may take a small number (TF: tf.logging.vlog)."""
    log(level, msg, *args, **{"stacklevel": 3} | kwargs)


def log_if(level: int, msg: Any, condition: bool, *args: Any) -> None:
    """Log if `condition` (TF: tf.logging.log_if)."""
    if condition:
        log(level, msg, *args, stacklevel=3)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log the first of every `n` calls from one place (TF: tf.logging.log_every_n)."""
    if (_count() - 1) % n == 0:
        log(level, msg, *args, stacklevel=3)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log the first `n` calls from one place (TF: tf.logging.log_first_n)."""
    if _count() <= n:
        log(level, msg, *args, stacklevel=3)


def _count() -> int:
    """How often the line two frames up has called this."""
    frame = sys._getframe(2)
    place = (frame.f_code.co_filename, frame.f_lineno)
    _counts[place] += 1
    return _counts[place]


def flush() -> None:
    """Flush all handlers (TF: tf.logging.flush)."""
    for handler in _logger.handlers:
        handler.flush()


_absent.tell_in(__name__)
