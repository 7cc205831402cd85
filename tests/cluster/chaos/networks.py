"""Networks of this machine that can be parted: processes in network namespaces of their own, joined by a bridge.

Namespaces end with their processes, and all else with them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import IO, Any

TOOLS = ("unshare", "nsenter", "ip", "bridge")


def can_be_made() -> bool:
    """By root, where that is allowed."""
    if os.geteuid() or not all(map(shutil.which, TOOLS)):
        return False
    made = subprocess.run(["unshare", "-n", "ip", "link", "add", "bridge0", "type", "bridge"], capture_output=True)
    return made.returncode == 0


class Network:
    """Hosts 10.77.0.N, numbered from 1."""

    def __init__(self, hosts: int) -> None:
        self._idle = [_namespace() for _ in range(hosts + 1)]
        hub, *self._hosts = (process.pid for process in self._idle)
        self._hub = hub
        _run(hub, "ip link add bridge0 type bridge")
        _run(hub, "ip link set bridge0 up")
        for number, host in enumerate(self._hosts, 1):
            _run(hub, f"ip link add port{number} type veth peer name eth0 netns {host}")
            _run(hub, f"ip link set port{number} master bridge0 up")
            _run(host, f"ip address add 10.77.0.{number}/24 dev eth0")
            _run(host, "ip link set eth0 up")
            _run(host, "ip link set lo up")

    def start(self, host: int, command: list[str], out: IO[bytes], **how: Any) -> subprocess.Popen[bytes]:
        """A process on a host."""
        return subprocess.Popen(_within(self._hosts[host - 1], command), stdout=out, stderr=out, **how)

    def part(self, *hosts: int) -> None:
        """Let them reach all others, but not each other."""
        self._isolate(hosts, "on")

    def join(self, *hosts: int) -> None:
        self._isolate(hosts, "off")

    def _isolate(self, hosts: tuple[int, ...], state: str) -> None:
        for host in hosts:
            _run(self._hub, f"bridge link set dev port{host} isolated {state}")

    def close(self) -> None:
        for process in self._idle:
            with process:
                process.kill()


def _namespace() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        ["unshare", "-n", "sh", "-c", "echo; exec sleep 3600"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()  # now it has its namespace
    return process


def _within(pid: int, command: list[str]) -> list[str]:
    return ["nsenter", "-t", str(pid), "-n", *command]


def _run(pid: int, command: str) -> None:
    subprocess.run(_within(pid, command.split()), check=True, capture_output=True)
