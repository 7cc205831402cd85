"""The other side of a connection, and the calls that go both ways."""

from __future__ import annotations

import contextlib
import copy
import itertools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock import errors, logging
from penstock.cluster.wire import frames
from penstock.cluster.wire.connection import Connection
from penstock.cluster.wire.failures import decode_failure, encode_failure
from penstock.cluster.wire.faults import Fault, Sending
from penstock.cluster.wire.frames import Message
from penstock.cluster.wire.identity import Identity, WireOptions
from penstock.cluster.wire.threads import Threads
from penstock.cluster.wire.values import decode, encode
from penstock.cluster.wire.writing import TooLate, is_reading, now_reading

_KIND_NAMES = {frames.CALL: "call", frames.TELL: "tell", frames.REPLY: "reply", frames.FAILURE: "failure"}


@dataclass(frozen=True)
class Handler:
    """A method that peers may call: `fn(peer, *args)`.

    If it is `inline`, the thread that reads the connection runs it: nothing else is read meanwhile, so it must not
    block, and messages to inline handlers are handled in the order in which they were sent. (A message with more than
    256 KB of tensors may be overtaken by others while it travels.) Any other handler has a thread of its own.

    takes_missing: it is also called with `Missing` for values for which there is no memory here.
    """

    fn: Callable[..., Any]
    inline: bool = False
    takes_missing: bool = False


class Peer:
    """A live connection to another process; either side may call. It never comes back once it is lost: ask the
    endpoint for a new one."""

    def __init__(
        self,
        connection: Connection,
        me: Identity,
        identity: Identity,
        address: str,
        service: Mapping[str, Handler],
        threads: Threads,
        options: WireOptions,
    ) -> None:
        self.identity = identity
        """Of the other side."""
        self.address = address
        self._connection = connection
        self._me = me
        self._service = service
        self._threads = threads
        self._limit = options.message_bytes
        self._faults = options.faults
        self._numbers = itertools.count(1)
        self._pending: dict[int, Callable[[Any], None]] = {}
        self._lock = threading.Lock()
        self._lost: errors.OpError | None = None
        self._on_lost: list[Callable[[errors.OpError], None]] = []

    def __repr__(self) -> str:
        return f"<Peer {self.identity.task} at {self.address}{', lost' if self._lost else ''}>"

    @property
    def lost(self) -> errors.OpError | None:
        """Why the connection was lost; None while it lives."""
        return self._lost

    @property
    def heard(self) -> float:
        """When something came last (time.monotonic)."""
        return self._connection.heard

    def hear(self) -> None:
        """Count as heard: if nothing came, it was not the other side's fault."""
        self._connection.hear()

    # Calling.

    def call(self, method: str, *args: Any, timeout: float | None = None) -> Any:
        """What the method returns there. What it raises is raised here, with the traceback from there below it.

        Raises UnavailableError if the connection is lost (whether the method ran is then unknown), and
        DeadlineExceededError after `timeout` seconds (it may still run).
        """
        if is_reading():
            raise errors.InternalError(
                None,
                None,
                f"{method} was called from an inline handler or a callback, which would wait for the answer for ever",
            )
        waiter = _Waiter()
        deadline = None if timeout is None or timeout > threading.TIMEOUT_MAX else time.monotonic() + timeout
        number = next(self._numbers)
        self._pending[number] = waiter
        try:
            self._send(frames.CALL, number, method, args, deadline)
            came = waiter.gate.acquire(timeout=-1 if deadline is None else max(0.0, deadline - time.monotonic()))
        except TooLate:
            came = False
        except BaseException:  # Ctrl-C, or a value that cannot be sent
            self._pending.pop(number, None)
            raise
        if not came:
            if self._pending.pop(number, None) is not None:
                raise errors.DeadlineExceededError(
                    None, None, f"{self.identity.task} did not answer {method} within {timeout:g} seconds"
                )
            waiter.gate.acquire()  # the answer comes at this moment
        answer = waiter.answer
        if isinstance(answer, _Raised):
            raise answer.error
        return answer

    def start(self, method: str, *args: Any, done: Callable[[Any], None]) -> None:
        """Call without waiting. `done` is called once, with the value or with the exception, usually in the thread that
        reads the connection: it must not block."""

        def answered(answer: Any) -> None:
            done(answer.error if isinstance(answer, _Raised) else answer)

        number = next(self._numbers)
        self._pending[number] = answered
        try:
            self._send(frames.CALL, number, method, args)
        except Exception as error:
            if self._pending.pop(number, None) is not None:
                done(error)

    def tell(self, method: str, *args: Any) -> None:
        """Call without an answer; what the method raises is logged there. Raises UnavailableError if the connection is
        known to be lost. When it returns, tensors in `args` may change."""
        self._send(frames.TELL, 0, method, args)

    def on_lost(self, fn: Callable[[errors.OpError], None]) -> None:
        """Call `fn` with the UnavailableError once the connection is lost, now if it is; it must not block."""
        with self._lock:
            if self._lost is None:
                self._on_lost.append(fn)
                return
        fn(self._lost)

    # Sending.

    def _send(self, kind: int, number: int, method: str, value: Any, deadline: float | None = None) -> None:
        pickled, beside = encode(value)
        size = len(pickled) + sum(view.nbytes for view in beside)
        if size > self._limit:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"a message to {self.identity.task} has {size} bytes; at most {self._limit} may be sent at once",
            )
        if self._faults is not None:
            fault = self._faults(Sending(self.identity, _KIND_NAMES[kind], method))
            if fault is not None:
                self._send_faulty(fault, kind, number, method, pickled, beside)
                return
        self._write(kind, number, method, pickled, beside, deadline)

    def _write(
        self,
        kind: int,
        number: int,
        method: str,
        pickled: memoryview,
        beside: list[memoryview],
        deadline: float | None = None,
    ) -> None:
        if self._lost is None:
            try:
                self._connection.write(kind, number, method.encode(), pickled, beside, deadline)
            except OSError as error:
                self.lose(_reason(error))
        if self._lost is not None:
            raise copy.copy(self._lost)

    def _send_faulty(
        self, fault: Fault, kind: int, number: int, method: str, pickled: memoryview, beside: list[memoryview]
    ) -> None:
        if fault.cut:
            self.lose("a test cut it")
            raise copy.copy(self._lost or errors.UnavailableError(None, None, "cut"))
        beside = [memoryview(bytes(view)) for view in beside]

        def send() -> None:
            with contextlib.suppress(errors.UnavailableError):
                for _ in range(fault.times):
                    self._write(kind, number, method, pickled, beside)

        if not fault.delay_s:
            send()
            return
        timer = threading.Timer(fault.delay_s, send)
        timer.daemon = True
        timer.start()

    # Reading.

    def serve(self) -> None:
        """Read the connection, in a thread of the pool, until it is lost or another thread takes over.

        A handler that may block runs in the thread that read its call, while another goes on reading: so there is no
        change of threads between a call's arrival and its handler.
        """
        now_reading(True)
        try:
            while True:
                message = self._connection.read()
                if message.kind in (frames.REPLY, frames.FAILURE):
                    self._answered(message)
                elif message.kind in (frames.CALL, frames.TELL):
                    handler = self._service.get(message.method)
                    if handler is not None and not handler.inline:
                        message.keep()
                        self._threads.submit(self.serve)
                        now_reading(False)
                        self._handle(handler, message)
                        return
                    self._handle(handler, message)
                elif message.kind == frames.PING:
                    self._write_ping(frames.PONG)
        except Exception as error:
            if not isinstance(error, (EOFError, OSError)):
                logging.warning("Cannot read what %s at %s sent: %r", self.identity.task, self.address, error)
            self.lose(_reason(error))
            self._connection.close()
        finally:
            now_reading(False)

    def _answered(self, message: Message) -> None:
        done = self._pending.pop(message.number, None)
        if done is None:
            return  # nobody waits for it any more
        answer: Any
        try:
            if message.lacks:
                raise self._no_memory(message)
            answer = decode(message.pickled, message.memory)
            message.clear()
            if message.kind == frames.FAILURE:
                answer = _Raised(decode_failure(answer))
        except Exception as error:
            answer = _Raised(error)
        self._tell(done, answer)

    def _handle(self, handler: Handler | None, message: Message) -> None:
        kind, answer = frames.REPLY, None
        unheard = bool(message.lacks)
        try:
            if handler is None:
                raise errors.UnimplementedError(None, None, f"{self._me.task} has no method {message.method!r}")
            if message.lacks and not (handler.takes_missing and message.pickled):
                raise self._no_memory(message)
            args = decode(message.pickled, message.memory)
            message.clear()
            unheard = False
            answer = handler.fn(self, *args)
            del args
        except BaseException as error:
            if message.kind == frames.TELL:
                logging.error("%s, which %s told %s:", message.method, self.identity.task, self._me.task, exc_info=True)
            kind, answer = frames.FAILURE, encode_failure(error, self._me.task)
        if message.kind == frames.TELL:
            if unheard:  # whoever waits for what was told must not wait for ever
                self.lose(self._no_memory(message).message)
            return
        try:
            try:
                self._send(kind, message.number, "", answer)
            except errors.UnavailableError:
                raise
            except Exception as error:  # the answer cannot be pickled
                self._send(frames.FAILURE, message.number, "", encode_failure(error, self._me.task))
        except errors.UnavailableError:
            pass  # who asked is gone

    def _no_memory(self, message: Message) -> errors.ResourceExhaustedError:
        what = f"with {message.method!r}" if message.method else "as an answer"
        return errors.ResourceExhaustedError(
            None,
            None,
            f"{self._me.task} has no memory for the {message.lacks} bytes that came from {self.identity.task} {what}",
        )

    # The end.

    def tidy(self) -> None:
        """From time to time: end shared memory that is not used."""
        with contextlib.suppress(OSError):
            self._connection.tidy()

    def ping(self) -> None:
        """Ask for a sign of life."""
        with contextlib.suppress(OSError):
            self._write_ping(frames.PING)

    def _write_ping(self, kind: int) -> None:
        fault = self._faults(Sending(self.identity, "ping")) if self._faults is not None else None
        if fault is None or not fault.never:
            self._connection.write(kind)

    def lose(self, reason: str) -> None:
        """End the connection: calls end, whoever asked is told. Only the first reason counts."""
        with self._lock:
            if self._lost is not None:
                return
            who = f"{self._me.task} to {self.identity.task} at {self.address}"
            self._lost = lost = errors.UnavailableError(
                None,
                None,
                f"the connection of {who} was lost: {reason}",
            )
            callbacks, self._on_lost = self._on_lost, []
        self._connection.end()
        while self._pending:
            with contextlib.suppress(KeyError):  # its caller has just given up
                self._tell(self._pending.popitem()[1], _Raised(copy.copy(lost)))
        for fn in callbacks:
            self._tell(fn, lost)

    def abandon(self) -> None:
        """In a forked process: the connection is the parent's."""
        self._lost = errors.UnavailableError(
            None, None, f"the connection to {self.identity.task} belongs to the process that this one was forked from"
        )
        self._connection.abandon()

    def _tell(self, fn: Callable[[Any], None], value: Any) -> None:
        try:
            fn(value)
        except Exception:
            logging.error("A callback of the connection to %s:", self.identity.task, exc_info=True)


class _Raised:
    """An answer that is an exception."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Waiter:
    """A call that waits for its answer."""

    __slots__ = ("answer", "gate")

    def __init__(self) -> None:
        self.answer: Any = None
        self.gate = threading.Lock()
        self.gate.acquire()

    def __call__(self, answer: Any) -> None:
        self.answer = answer
        self.gate.release()


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
