"""What a process has on the wire: it listens, connects, and notices when somebody falls silent."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
import time
import weakref
from collections.abc import Mapping

from penstock import errors, logging
from penstock.cluster.wire import handshake
from penstock.cluster.wire.connection import Connection, now_reading
from penstock.cluster.wire.handshake import HandshakeError, Hello
from penstock.cluster.wire.identity import Expect, Identity, WireOptions, check
from penstock.cluster.wire.peer import Handler, Peer
from penstock.cluster.wire.threads import Threads

_RETRY_S = 0.05
_CLOSE_S = 5.0
"""How long `close` waits for handlers that are running."""

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
        self._options = options if options is not None else WireOptions()
        self._threads = Threads(f"wire {identity.task}")
        self._lock = threading.Lock()
        self._peers: set[Peer] = set()
        self._connected: dict[str, Peer] = {}  # those that this side connected, by address
        self._connecting: dict[str, threading.Lock] = {}
        self._listeners: list[socket.socket] = []
        self._strangers: dict[socket.socket, None] = {}  # not yet authenticated, oldest first
        self._complained: set[str] = set()
        self._running: list[threading.Thread] = []
        self._closing = threading.Event()
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
        listens there, InvalidArgumentError if this machine has no such address."""
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except OSError as error:
            raise errors.InvalidArgumentError(None, None, f"{host}:{port} is no address: {error}") from None
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # also just after a task there has ended
            listener.bind(address)
            listener.listen(256)
        except OSError as error:
            listener.close()
            what = f"{self.identity.task} cannot listen at {host}:{port}: {error.strerror}"
            if error.errno == errno.EADDRINUSE:
                raise errors.AlreadyExistsError(None, None, f"{what} (another process uses the port)") from None
            raise errors.InvalidArgumentError(None, None, what) from None
        self._run(self._accept, listener, name=f"wire {self.identity.task} accepts")
        return int(listener.getsockname()[1])

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
                    oldest = (
                        next(iter(self._strangers)) if len(self._strangers) > self._options.unauthenticated else None
                    )
                if oldest is not None:
                    with contextlib.suppress(OSError):
                        oldest.shutdown(socket.SHUT_RDWR)
                try:
                    self._threads.submit(self._welcome, sock, _text_of(address))
                except RuntimeError:
                    self._forget(sock)
                    sock.close()

    def _welcome(self, sock: socket.socket, where: str) -> None:
        """The first messages of a connection that somebody made."""
        try:
            hello = handshake.accept(
                sock, Hello(self.identity), self._token, time.monotonic() + self._options.handshake_s
            )
            check(self.identity, hello.identity, None, where)
        except (HandshakeError, errors.OpError, OSError, EOFError) as error:
            self._forget(sock)
            sock.close()
            if not self._closing.is_set():
                self._complain(where, error)
            return
        self._forget(sock)
        self._begin(sock, hello.identity, where)

    def _forget(self, sock: socket.socket) -> None:
        with self._lock:
            self._strangers.pop(sock, None)

    def _complain(self, where: str, error: Exception) -> None:
        """Once for each host and reason: port scanners come often."""
        text = str(error)
        key = f"{where.rpartition(':')[0]} {text}"
        with self._lock:
            known = key in self._complained
            if len(self._complained) < 1000:
                self._complained.add(key)
        if not known:
            logging.warning("%s refused a connection from %s: %s", self.identity.task, where, text)

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
            reason: Exception
            try:
                sock = socket.create_connection((host, port), max(0.01, deadline - time.monotonic()))
                try:
                    end = min(deadline, time.monotonic() + self._options.handshake_s)
                    hello = handshake.connect(sock, Hello(self.identity), self._token, end, address)
                    check(self.identity, hello.identity, None, address)
                except BaseException:
                    sock.close()
                    raise
                return self._begin(sock, hello.identity, address)
            except (OSError, EOFError) as error:
                reason = error
            except HandshakeError as error:
                raise self._unreachable(address, str(error)) from None
            if time.monotonic() + _RETRY_S >= deadline:
                raise self._unreachable(address, str(reason))
            self._closing.wait(_RETRY_S)

    def _unreachable(self, address: str, reason: str) -> errors.OpError:
        return errors.UnavailableError(None, None, f"{self.identity.task} cannot connect to {address}: {reason}")

    def _begin(self, sock: socket.socket, identity: Identity, address: str) -> Peer:
        """An authenticated connection starts."""
        sock.settimeout(None)
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(sock, self._threads, self._options.message_bytes)
        peer = Peer(connection, self.identity, identity, address, self._service, self._threads, self._options)
        with self._lock:
            first = not self._peers
            self._peers.add(peer)
        peer.on_lost(lambda _: self._drop(peer))
        if first:
            self._run_watch()
        try:
            self._threads.submit(peer.serve)
        except RuntimeError:
            peer.lose("this side is being closed")
            connection.close()
        return peer

    def _drop(self, peer: Peer) -> None:
        with self._lock:
            self._peers.discard(peer)

    # Watching.

    def _run_watch(self) -> None:
        with self._lock:
            if any(thread.name.endswith(" watches") for thread in self._running):
                return
        self._run(self._watch, name=f"wire {self.identity.task} watches")

    def _watch(self) -> None:
        """Ask silent peers for signs of life; end the connections of those that give none."""
        now_reading(True)  # a ping must not wait for a peer that reads nothing
        options = self._options
        tick = min(options.ping_s, options.dead_s / 4) / 2
        last = time.monotonic()
        asked: weakref.WeakKeyDictionary[Peer, float] = weakref.WeakKeyDictionary()
        while not self._closing.wait(tick):
            now = time.monotonic()
            if (
                now - last > tick + options.dead_s / 2
            ):  # this process itself stood still: what was sent to it lies there
                for peer in self.peers:
                    peer.heard = now
            last = now
            for peer in self.peers:
                silent = now - peer.heard
                if silent > options.dead_s:
                    peer.lose(f"nothing came from it for {silent:.1f} seconds")
                elif silent > options.ping_s and now - asked.get(peer, 0.0) > options.ping_s:
                    asked[peer] = now
                    peer.ping()

    # The end.

    def _run(self, target: object, *args: object, name: str) -> None:
        with self._lock:
            self._check_open()
            self._listeners.extend(arg for arg in args if isinstance(arg, socket.socket))
            thread = threading.Thread(target=target, args=args, name=name, daemon=True)  # type: ignore[arg-type]
            self._running.append(thread)
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
            running = self._running
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

    def _abandon(self) -> None:
        """In a forked process: its threads are not here, and its connections are the parent's."""
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._closing.set()
        for peer in self._peers:
            peer.abandon()
        self._peers.clear()
        for sock in (*self._listeners, *self._strangers):
            with contextlib.suppress(OSError):
                sock.close()


def _abandon_all() -> None:
    for endpoint in list(_endpoints):
        endpoint._abandon()


os.register_at_fork(after_in_child=_abandon_all)


def split_address(address: str) -> tuple[str, int]:
    """("host", port) of "host:port" or "[::1]:port"."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise errors.InvalidArgumentError(None, None, f"{address!r} is not an address like host:port")
    return host.strip("[]"), int(port)


def _text_of(address: object) -> str:
    if isinstance(address, tuple):
        return f"{address[0]}:{address[1]}"
    return "this host"
