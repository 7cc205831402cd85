"""How two processes prove to each other that they know the cluster's token, before either believes anything.

Nothing is unpickled here, sizes are bounded, and the token itself never travels. Afterwards the connection is neither
encrypted nor signed: whoever can change the packets of a cluster's network is trusted.

    connecting                                   accepting
        magic, nonce                ──▶
                                    ◀──          magic, nonce
        HMAC, identity (JSON)       ──▶
                                    ◀──          verdict, HMAC, identity (JSON)
        yes (or the end)            ──▶

The connecting side may change its mind at the end: if who answers is not whom it looked for, or if there is a shorter
way between the two.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any

from penstock import errors
from penstock.cluster.wire.identity import Identity

_MAGIC = b"penstock wire 1\n"
_NONCE_BYTES = 32
_MAC_BYTES = 32
_MAX_JSON = 1 << 16
_WELCOME, _REFUSED = b"\1", b"\0"
_YES = b"\1"
_SIZE = struct.Struct("<I")


class HandshakeError(Exception):
    """The other side is no task of this cluster, or does not behave as one."""


@dataclass(frozen=True)
class Hello:
    """What each side says: who it is, and for the accepting side where processes of its host reach it."""

    identity: Identity
    local: str = ""

    def as_bytes(self) -> bytes:
        return json.dumps({"identity": self.identity.as_json(), "local": self.local}).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> Hello:
        try:
            value: dict[str, Any] = json.loads(text)
            return cls(Identity.from_json(value["identity"]), str(value["local"]))
        except (ValueError, KeyError, TypeError) as error:
            raise HandshakeError(f"its hello cannot be read: {error!r}") from None


def connect(sock: socket.socket, hello: Hello, token: bytes, deadline: float, where: str) -> Hello:
    """Introduce this process at `where`. Raises UnauthenticatedError, HandshakeError, OSError, EOFError."""
    stream = _Stream(sock, deadline)
    mine = secrets.token_bytes(_NONCE_BYTES)
    stream.write(_MAGIC + mine)
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise HandshakeError("what answers there is not a Penstock task")
    nonces = mine + stream.read(_NONCE_BYTES)
    text = hello.as_bytes()
    stream.write(_mac(token, b"connect", nonces, text) + _SIZE.pack(len(text)) + text)
    verdict = stream.read(1)
    if verdict == _WELCOME:
        mac = stream.read(_MAC_BYTES)
        text = stream.read_text()
        if hmac.compare_digest(mac, _mac(token, b"accept", nonces, text)):
            return Hello.from_bytes(text)
    raise errors.UnauthenticatedError(
        None, None, f"the task at {where} was started with another cluster token than {hello.identity.task} here"
    )


def accept(sock: socket.socket, hello: Hello, token: bytes, deadline: float) -> Hello:
    """Find out who connected. Raises HandshakeError, OSError, EOFError."""
    stream = _Stream(sock, deadline)
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise HandshakeError("it does not speak Penstock's protocol")
    mine = secrets.token_bytes(_NONCE_BYTES)
    nonces = stream.read(_NONCE_BYTES) + mine
    stream.write(_MAGIC + mine)
    mac = stream.read(_MAC_BYTES)
    theirs = stream.read_text()
    if not hmac.compare_digest(mac, _mac(token, b"connect", nonces, theirs)):
        stream.write(_REFUSED)
        raise HandshakeError("it does not know the cluster's token")
    text = hello.as_bytes()
    stream.write(_WELCOME + _mac(token, b"accept", nonces, text) + _SIZE.pack(len(text)) + text)
    return Hello.from_bytes(theirs)


def confirm(sock: socket.socket, deadline: float) -> None:
    """After `connect`: the connection will be used."""
    _Stream(sock, deadline).write(_YES)


def confirmed(sock: socket.socket, deadline: float) -> bool:
    """After `accept`: whether the connection will be used. Raises OSError."""
    try:
        return _Stream(sock, deadline).read(1) == _YES
    except EOFError:
        return False


def _mac(token: bytes, role: bytes, nonces: bytes, text: bytes) -> bytes:
    """The role is in it, so that nobody can answer a challenge with its own answer."""
    return hmac.digest(token, role + nonces + text, "sha256")


class _Stream:
    """A socket that is read and written until a deadline, however slowly the other side drips."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._socket = sock
        self._deadline = deadline

    def _wait(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long to introduce itself")
        self._socket.settimeout(left)

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            self._wait()
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise EOFError("it closed the connection")
            data += piece
        return data

    def read_text(self) -> bytes:
        (size,) = _SIZE.unpack(self.read(_SIZE.size))
        if size > _MAX_JSON:
            raise HandshakeError(f"a hello of {size} bytes")
        return self.read(size)

    def write(self, data: bytes) -> None:
        self._wait()
        self._socket.sendall(data)
