"""Targets: whether a session runs its steps in a cluster. Local sessions import nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.runtime.resources import resources_of

if TYPE_CHECKING:
    from penstock.cluster.master.master import Master


def master_of(target: str, config: Any) -> Master | None:
    """The master of a session of `target`; None for a local one.

    Raises UnavailableError, naming the address, if the target does not answer, TypeError for what is no text.
    """
    if not isinstance(target, str | bytes | None):
        raise TypeError(f"target must be a string, but got {type(target)}")
    if _is_local(target):
        return None
    from penstock.cluster.master.master import Master

    return Master(target, config)


def reset_target(target: str, containers: list[str] | None, config: Any) -> None:
    if _is_local(target):
        resources_of(target).reset(containers)
        return
    from penstock.cluster.master.master import reset

    reset(target, containers)


def _is_local(target: str) -> bool:
    return not target or target.startswith("inproc://")
