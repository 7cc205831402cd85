"""Addresses, and sockets that listen there or connect there."""

from __future__ import annotations

import errno
import secrets
import socket

from penstock import errors

_LOCAL_BUFFER = 1 << 20
"""The system's own (200 KB) makes the two sides of a Unix socket wait for each other several times in each part of a
message; TCP's grow as needed."""


def split_address(address: str) -> tuple[str, int]:
    """("host", port) of "host:port" or "[::1]:port"."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise errors.InvalidArgumentError(None, None, f"{address!r} is not an address like host:port")
    return host.strip("[]"), int(port)


def listen_at(host: str, port: int, who: str) -> socket.socket:
    """Raises AlreadyExistsError if something else listens there, InvalidArgumentError if that is no address of this
    machine."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise errors.InvalidArgumentError(None, None, f"{who} cannot listen at {host}:{port}: {error}") from None
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # also just after a task there has ended
        listener.bind(address)
        listener.listen(256)
    except OSError as error:
        listener.close()
        what = f"{who} cannot listen at {host}:{port}: {error.strerror}"
        if error.errno == errno.EADDRINUSE:
            raise errors.AlreadyExistsError(None, None, f"{what} (another process uses the port)") from None
        raise errors.InvalidArgumentError(None, None, what) from None
    return listener


def listen_locally() -> tuple[socket.socket, str]:
    """A Unix socket and its name. It is no file: it ends with its process, however that ends."""
    name = f"penstock-{secrets.token_hex(16)}"
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(f"\0{name}")
        listener.listen(256)
    except OSError:
        listener.close()
        raise
    return listener, name


def connect_locally(name: str, timeout: float) -> socket.socket:
    """Raises OSError also if the name is of another host."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.settimeout(timeout)
        sock.connect(f"\0{name}")
    except OSError:
        sock.close()
        raise
    return sock


def prepare(sock: socket.socket) -> None:
    """For messages, after the handshake."""
    sock.settimeout(None)
    if sock.family == socket.AF_UNIX:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LOCAL_BUFFER)
    else:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def text_of(address: object) -> str:
    """Of an address as `accept` returns it."""
    if isinstance(address, tuple):
        host = f"[{address[0]}]" if ":" in str(address[0]) else address[0]
        return f"{host}:{address[1]}"
    return "this host"
