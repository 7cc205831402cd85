"""The reference executor, called as a session is."""

from __future__ import annotations

from typing import Any

from penstock.passes.prune import prune
from penstock.runtime.reference import Reference
from penstock.session.fetches import FetchPlan
from penstock.session.session import BaseSession


def run_reference(session: BaseSession, fetches: list[Any], feed_dict: dict[Any, Any] | None = None) -> list[Any]:
    """What `session.run(fetches, feed_dict)` must give, from the state of now, which stays as it is."""
    feed_dict = feed_dict or {}
    wanted = FetchPlan(session.graph, list(fetches))
    reference = Reference(prune(list(feed_dict), wanted.tensors, wanted.targets), session._state)
    reference.copy_state()
    return wanted.unpack(tuple(reference.run(reference.feed(list(feed_dict.values())))))
