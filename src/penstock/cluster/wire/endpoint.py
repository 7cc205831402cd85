"""What a process has on the wire: it listens, connects, and notices when somebody falls silent."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace

from penstock import errors, logging
from penstock.cluster.wire import handshake
from penstock.cluster.wire.connection import Connection
from penstock.cluster.wire.faults import Sending, wanted_faults
from penstock.cluster.wire.handshake import HandshakeError, Hello
from penstock.cluster.wire.identity import Expect, Identity, WireOptions, check
from penstock.cluster.wire.peer import Handler, Peer
from penstock.cluster.wire.shared import Budget
from penstock.cluster.wire.sockets import (
    connect_locally,
    listen_at,
    listen_locally,
    prepare,
    split_address,
    text_of,
)
from penstock.cluster.wire.threads import Threads
from penstock.cluster.wire.writing import now_reading

_RETRY_S = 0.05
_CLOSE_S = 5.0
"""How long `close` waits for handlers that are running."""
_COMPLAINTS = 1000

_endpoints: weakref.WeakSet[Endpoint] = weakref.WeakSet()


class Endpoint:
    """Connections of one task, or of a client. `service` says what peers may call, whoever connected.

    The `token` is the cluster's secret: only processes that know it get a connection.
    """

    def __init__(
        self, identity: Identity, token: bytes, service: Mapping[str, Handler], options: WireOptions | None = None
    ) -> None:
        if not token:
            raise errors.InvalidArgumentError(None, None, "a cluster needs a token that is not empty")
        self.identity = identity
        self._token = token
        self._service = service
        options = options if options is not None else WireOptions()
        self._options = replace(options, faults=options.faults or wanted_faults(identity))
        self._threads = Threads(f"wire {identity.task}")
        self._budget = Budget(self._options.shared_bytes)
        self._lock = threading.Lock()
        self._peers: set[Peer] = set()
        self._connected: dict[str, Peer] = {}  # those that this side connected, by address
        self._connecting: dict[str, threading.Lock] = {}
        self._local_name = ""
        self._listeners: list[socket.socket] = []
        self._strangers: dict[socket.socket, None] = {}  # not yet authenticated, oldest first
        self._complaints: set[str] = set()
        self._running: dict[str, threading.Thread] = {}
        self._closing = threading.Event()
        self._due: queue.SimpleQueue[tuple[Connection, int] | None] = queue.SimpleQueue()  # segments to give back
        _endpoints.add(self)

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def peers(self) -> list[Peer]:
        """The live ones, whichever side connected."""
        with self._lock:
            return list(self._peers)

    # Accepting.

    def listen(self, host: str, port: int = 0) -> int:
        """Accept connections at `host`; returns the port (0 chooses one). Raises AlreadyExistsError if something else
        listens there, InvalidArgumentError if that is no address of this machine."""
        listener = listen_at(host, port, self.identity.task)
        port = int(listener.getsockname()[1])
        self._start_accepting(listener, f"accepts at {port}")
        if self._options.local and not self._local_name and sys.platform == "linux":
            local, name = listen_locally()
            self._start_accepting(local, "accepts locally")
            self._local_name = name
        return port

    def _start_accepting(self, listener: socket.socket, name: str) -> None:
        with self._lock:
            self._listeners.append(listener)
        self._run(name, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        with listener:
            while not self._closing.is_set():
                try:
                    sock, address = listener.accept()
                except OSError as error:
                    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.ECONNABORTED):
                        self._closing.wait(0.1)  # others may close some
                        continue
                    return  # closed
                with self._lock:
                    self._strangers[sock] = None
                    if len(self._strangers) > self._options.unauthenticated:
                        # A task needs milliseconds: the oldest is none.
                        with contextlib.suppress(OSError):
                            next(iter(self._strangers)).shutdown(socket.SHUT_RDWR)
                try:
                    self._threads.submit(self._welcome, sock, text_of(address))
                except RuntimeError:
                    self._forget(sock)
                    sock.close()

    def _welcome(self, sock: socket.socket, where: str) -> None:
        """The first messages of a connection that somebody made."""
        try:
            end = time.monotonic() + self._options.handshake_s
            hello = handshake.accept(sock, Hello(self.identity, self._local_name), self._token, end)
            check(self.identity, hello.identity, None, where)
            stays = handshake.confirmed(sock, end)
        except (HandshakeError, errors.OpError, OSError, EOFError) as error:
            stays = False
            if not self._closing.is_set():
                self._complain(where, str(error))
        self._forget(sock)
        if stays:
            self._begin(sock, hello.identity, where)
        else:
            sock.close()

    def _forget(self, sock: socket.socket) -> None:
        with self._lock:
            self._strangers.pop(sock, None)

    def _complain(self, where: str, reason: str) -> None:
        """Once for each host and reason: port scanners come often."""
        key = f"{where.rpartition(':')[0]} {reason}"
        with self._lock:
            if key in self._complaints or len(self._complaints) >= _COMPLAINTS:
                return
            self._complaints.add(key)
        logging.warning("%s refused a connection from %s: %s", self.identity.task, where, reason)

    # Connecting.

    def peer(self, address: str, expect: Expect | None = None, timeout: float | None = None) -> Peer:
        """The live connection to host:port, made now if there is none.

        A task that does not listen yet is waited for, up to `timeout` seconds (options.connect_s), then
        UnavailableError is raised. Raises UnauthenticatedError if the other side has another token,
        FailedPreconditionError if it runs another version or has another ClusterSpec, AbortedError if it is not the
        task, or not the start of it, that was expected.
        """
        deadline = time.monotonic() + (self._options.connect_s if timeout is None else timeout)
        with self._lock:
            turn = self._connecting.setdefault(address, threading.Lock())
        if not turn.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise self._unreachable(address, "another thread is still connecting")
        try:
            peer = self._connected.get(address)
            if peer is None or peer.lost is not None:
                peer = self._connected[address] = self._connect(address, deadline)
        finally:
            turn.release()
        check(self.identity, peer.identity, expect, address)
        return peer

    def _connect(self, address: str, deadline: float) -> Peer:
        host, port = split_address(address)
        while True:
            self._check_open()
            try:
                sock = socket.create_connection((host, port), max(0.01, deadline - time.monotonic()))
                return self._introduce(sock, address, min(deadline, time.monotonic() + self._options.handshake_s))
            except (OSError, EOFError) as error:
                if time.monotonic() + _RETRY_S >= deadline:
                    raise self._unreachable(address, str(error)) from None
            except HandshakeError as error:
                raise self._unreachable(address, str(error)) from None
            self._closing.wait(_RETRY_S)

    def _introduce(self, sock: socket.socket, address: str, deadline: float) -> Peer:
        """The first messages of a connection that this side made."""
        with contextlib.ExitStack() as on_error:
            on_error.callback(sock.close)
            mine = Hello(self.identity)
            hello = handshake.connect(sock, mine, self._token, deadline, address)
            check(self.identity, hello.identity, None, address)
            fault = self._options.faults and self._options.faults(Sending(hello.identity, "connect"))
            if fault and fault.never:
                raise ConnectionResetError("a test cut it")
            if hello.local and self._options.local and sys.platform == "linux":
                with contextlib.suppress(OSError, EOFError, HandshakeError):  # another host: the name is unknown here
                    local = unused = connect_locally(hello.local, self._options.handshake_s)
                    try:
                        if handshake.connect(local, mine, self._token, deadline, address).identity == hello.identity:
                            unused, sock = sock, local
                            on_error.callback(local.close)
                    finally:
                        unused.close()
            handshake.confirm(sock, deadline)
            peer = self._begin(sock, hello.identity, address)
            on_error.pop_all()
        return peer

    def _unreachable(self, address: str, reason: str) -> errors.OpError:
        return errors.UnavailableError(None, None, f"{self.identity.task} cannot connect to {address}: {reason}")

    def _begin(self, sock: socket.socket, identity: Identity, address: str) -> Peer:
        """An authenticated connection starts."""
        prepare(sock)
        connection = Connection(sock, self._threads, self._options, self._budget, lambda *due: self._due.put(due))
        peer = Peer(connection, self.identity, identity, address, self._service, self._threads, self._options)
        with self._lock:
            self._peers.add(peer)
        peer.on_lost(lambda _: self._drop(peer))
        try:
            self._run("watches", self._watch)
            self._threads.submit(peer.serve)
        except (RuntimeError, errors.CancelledError):
            peer.lose("this side is being closed")
            connection.close()
        return peer

    def _drop(self, peer: Peer) -> None:
        with self._lock:
            self._peers.discard(peer)

    # Watching.

    def _watch(self) -> None:
        """Give back shared memory; ask silent peers for signs of life; end the connections of those that give none."""
        now_reading(True)  # nothing here may wait for a peer that reads nothing
        options = self._options
        tick = min(options.ping_s, options.dead_s / 4) / 2
        asked: weakref.WeakKeyDictionary[Peer, float] = weakref.WeakKeyDictionary()
        last = time.monotonic()
        while True:
            with contextlib.suppress(queue.Empty):
                due = self._due.get(timeout=max(0.0, last + tick - time.monotonic()))
                if due is None:
                    return
                connection, segment = due
                with contextlib.suppress(OSError):
                    connection.give_back(segment)
                del due, connection
            now = time.monotonic()
            if now < last + tick:
                continue
            # If this process itself stood still, what was sent to it is there but not read yet.
            stood_still = now - last > tick + options.dead_s / 2
            last = now
            for peer in self.peers:
                if stood_still:
                    peer.hear()
                silent = now - peer.heard
                if silent > options.dead_s:
                    peer.lose(f"nothing came from it for {silent:.1f} seconds")
                elif silent > options.ping_s and now - asked.get(peer, 0.0) > options.ping_s:
                    asked[peer] = now
                    peer.ping()
                peer.tidy()

    # The end.

    def _run(self, name: str, target: Callable[..., None], *args: object) -> None:
        """Run it in a thread, unless it runs."""
        with self._lock:
            self._check_open()
            if name not in self._running:
                thread = threading.Thread(
                    target=target, args=args, name=f"wire {self.identity.task} {name}", daemon=True
                )
                self._running[name] = thread
                thread.start()

    def _check_open(self) -> None:
        if self._closing.is_set():
            raise errors.CancelledError(None, None, f"the endpoint of {self.identity.task} was closed")

    def close(self) -> None:
        """End all connections and threads; waits a few seconds for handlers that are running."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
            sockets = [*self._listeners, *self._strangers]
            running = list(self._running.values())
        self._due.put(None)
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for peer in self.peers:
            peer.lose("this side closed it")
        for thread in running:
            if thread is not threading.current_thread():
                thread.join(_CLOSE_S)
        self._threads.close(_CLOSE_S)
        for peer in self.peers:  # began at the same moment
            peer.lose("this side closed it")

    def abandon(self) -> None:
        """In a forked process: its threads are not here, and its connections are the parent's."""
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._closing.set()
        for peer in self._peers:
            peer.abandon()
        self._peers = set()
        for sock in (*self._listeners, *self._strangers):
            with contextlib.suppress(OSError):
                sock.close()


def _abandon_all() -> None:
    for endpoint in list(_endpoints):
        endpoint.abandon()


os.register_at_fork(after_in_child=_abandon_all)
