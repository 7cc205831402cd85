"""How monitored sessions get the sessions that they run in (TF: tf.train.SessionCreator)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.scopes import get_default_graph
from penstock.training_loop.scaffold import Scaffold
from penstock.training_loop.session_manager import SessionManager


@export("train.SessionCreator")
class SessionCreator:
    """A factory of sessions; a base class."""

    def create_session(self) -> Any:
        """A session whose variables have values."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class _WithScaffold(SessionCreator):
    def __init__(self, scaffold: Scaffold | None, master: str, config: Any) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._session_manager: SessionManager | None = None

    def _get_session_manager(self) -> SessionManager:
        if self._session_manager is None:
            self._session_manager = SessionManager(
                local_init_op=self._scaffold.local_init_op,
                local_init_feed_dict=self._scaffold.local_init_feed_dict,
                ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=get_default_graph(),
            )
        return self._session_manager


@export("train.ChiefSessionCreator")
class ChiefSessionCreator(_WithScaffold):
    """Sessions that restore the latest checkpoint, or a given one, or initialise the variables if there is none."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Any:
        self._scaffold.finalize()
        return self._get_session_manager().prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


@export("train.WorkerSessionCreator")
class WorkerSessionCreator(_WithScaffold):
    """Sessions that wait until the chief has initialised or restored the variables, at most `max_wait_secs`."""

    def __init__(
        self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, max_wait_secs: float = 30 * 60
    ) -> None:
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        self._scaffold.finalize()
        return self._get_session_manager().wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )
