"""The default session of each thread: what `Tensor.eval` and `Operation.run` use (TF: tf.get_default_session)."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.export import export
from penstock.graph.default_stacks import default_sessions


class Runs(Protocol):
    """A session, as graph elements know it."""

    @property
    def graph(self) -> Any: ...

    def run(self, fetches: Any, feed_dict: Any = None) -> Any: ...


@export("get_default_session")
def get_default_session() -> Any:
    """The session that `Tensor.eval` and `Operation.run` use in this thread, or None."""
    return default_sessions.innermost()


def session_for(element: Any, given: Runs | None, verb: str) -> Runs:
    """The session that will `verb` a graph element: the given one or the default one.

    Raises ValueError if there is none, or if its graph is a different one.
    """
    session: Runs | None = given or get_default_session()
    if session is None:
        raise ValueError(
            f"Cannot {verb} {element.name!r}: no default session is registered. Use `with sess.as_default()` or "
            f"pass an explicit session to `{verb}(session=sess)`."
        )
    if session.graph is not element.graph:
        raise ValueError(f"Cannot {verb} {element.name!r}: the default session's graph is another one.")
    return session
