"""The internal ops that carry values between devices. The executor runs them itself, so they have no kernels."""

from __future__ import annotations

from penstock.graph.opdef import OpDef, parse_arg, parse_attr
from penstock.graph.traits import Traits

_FREE = Traits(free=True)
_WAITS = Traits(free=True, waits=True)
_T = {"T": parse_attr("T: type")}

SEND = OpDef("_Send", (parse_arg("tensor: T", _T),), (), _T, stateful=True, traits=_FREE)
RECV = OpDef("_Recv", (), (parse_arg("tensor: T", _T),), _T, stateful=True, traits=_WAITS)
SEND_CONTROL = OpDef("_SendControl", (), (), {}, stateful=True, traits=_FREE)
RECV_CONTROL = OpDef("_RecvControl", (), (), {}, stateful=True, traits=_WAITS)
"""A control edge between devices: it only says that something has run."""

SENDS = frozenset({"_Send", "_SendControl"})
RECVS = frozenset({"_Recv", "_RecvControl"})
TRANSFERS = SENDS | RECVS

FOR_CLIENT = "for_client"
"""The attribute of a Send whose value is held until the client takes it, and of one that tells it what has run."""

COMPRESS = "_compress_transfers"
"""The attribute of a node whose float32 values are sent as 16 bits, whatever the session's other edges do."""

LATE = "late"
"""The attribute of both ends of a transfer whose Recv waits for a node of its device. Between tasks, its value stays
where it was made until the Recv asks for it."""
