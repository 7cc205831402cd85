"""Connections between the tasks of a cluster: authenticated, either side may call, values travel without copies.

An `Endpoint` is what a process has on the wire, a `Peer` one connection to another. Nothing here knows of graphs.
"""

from penstock.cluster.wire.endpoint import Endpoint
from penstock.cluster.wire.identity import Expect, Identity, WireOptions
from penstock.cluster.wire.peer import Handler, Peer
from penstock.cluster.wire.values import Missing

__all__ = ["Endpoint", "Expect", "Handler", "Identity", "Missing", "Peer", "WireOptions"]
