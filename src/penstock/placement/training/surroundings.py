"""What the data of replicas passes through, taken from a description of hardware."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.export import export
from penstock.placement.hardware import Hardware
from penstock.placement.machines import INFINITE, SimulatedDevice


@export("placement.TrainingCluster")
@dataclass(frozen=True, slots=True)
class Cluster:
    """Machines for workers and machines for parameter servers; there are as many workers as needed. Rates are in bytes
    per second, each way.

    per_host: devices of a worker's machine. card: of its network card. inside: between a device and others of its
    machine, alone; bus: of all of these together. server_card: of a server's network card. server_work: at which rate
    its processor takes in gradients: each byte is added to a sum. server_memory: bytes, 0: no limit.
    """

    device: SimulatedDevice
    per_host: int = 1
    card: float = INFINITE
    card_latency: float = 0.0
    inside: float = INFINITE
    inside_latency: float = 0.0
    bus: float = INFINITE
    switch: float = INFINITE
    servers: int = 1
    server_card: float = INFINITE
    server_work: float = INFINITE
    server_memory: float = 0.0

    @staticmethod
    def of(hardware: Hardware, servers: int = 0) -> Cluster:
        """The machines of `hardware`: those of job "ps" are parameter servers, those with most devices workers.

        servers: how many there are, if not as many as described; they are like the workers' machines if none is.
        """
        rest = [device for device in hardware.devices if not _is_server(device)]
        if not rest:
            raise ValueError("the description has no device besides those of parameter servers (job 'ps')")
        device = next((device for device in rest if device.type != "CPU"), rest[0])
        same = [d for d in rest if d.host == device.host and d.type == device.type]
        other = next((d.name for d in same if d is not device), None)
        host = hardware.hosts.get(device.host)
        inside = host.inside if host is not None and host.inside is not None else None
        if inside is None:
            inside = hardware.link(device.name, other) if other else hardware.default_link
        between = (host.card if host is not None else None) or hardware.default_link
        described = [d for d in hardware.devices if _is_server(d)]
        server = described[0] if described else next((d for d in rest if d.type == "CPU"), device)
        server_host = hardware.hosts.get(server.host)
        server_link = (server_host.card if server_host is not None else None) or hardware.default_link
        return Cluster(
            device,
            len(same) if host is not None else 1,
            between.bytes_per_second,
            between.latency,
            min(inside.rate, host.port if host is not None else INFINITE),
            inside.latency,
            host.bus if host is not None else INFINITE,
            hardware.switch,
            servers or len({d.host or d.name for d in described}) or 1,
            server_link.bytes_per_second,
            server.speeds.bytes_per_second / _ACCESSES,
            server.memory,
        )

    def to_servers(self, replicas: int) -> tuple[float, float]:
        """The most that one of so many replicas exchanges with the servers, and the latency."""
        here = min(replicas, self.per_host)
        latency = self.card_latency + (self.inside_latency if self.device.type != "CPU" else 0.0)
        return min(self.inside, self.bus / here, self.card / here), latency

    def ring(self, replicas: int) -> tuple[float, float]:
        """Rate and latency from each device of a ring to the next: the ring enters and leaves each machine once."""
        here = min(replicas, self.per_host)
        rate, latency = min(self.inside, self.bus / here), self.inside_latency
        if replicas > self.per_host:
            rate, latency = min(rate, self.card, self.switch / -(-replicas // self.per_host)), self.card_latency
        return rate, latency


_ACCESSES = 3
"""Adding a gradient to a sum reads both and writes one."""


def _is_server(device: SimulatedDevice) -> bool:
    return "/job:ps/" in device.name
