"""`ProgressHook`: a bar, or lines, that show how far a monitored session has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.export import export
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from penstock.training_loop.global_steps import needed_global_step
from penstock.training_loop.hooks import as_graph_element
from penstock.training_loop.progress import Progress


@export("train.ProgressHook")
class ProgressHook(SessionRunHook):
    """Shows steps, steps per second, the time left, and values such as the loss. (TensorFlow has no such hook.)

    On a terminal this is a bar, which is drawn ten times a second, elsewhere a line every ten seconds. Other steps are
    not asked for anything. `tf.train.ProgressHook({"loss": loss}, total_steps=10_000)`
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Iterable[Any] = (),
        total_steps: int | None = None,
        seconds: float | None = None,
        file: Any = None,
    ) -> None:
        """tensors: scalars to show, by their tags, or tensors or names. total_steps: the last global step. seconds:
        from one display to the next. file: where to, by default stderr."""
        self._tensors = dict(tensors) if isinstance(tensors, Mapping) else {each: each for each in tensors}
        self._total_steps, self._seconds, self._file = total_steps, seconds, file
        self._progress: Progress | None = None
        self._asked = False

    def begin(self) -> None:
        self._global_step_tensor = needed_global_step(self)
        self._current_tensors = {_tag(tag): as_graph_element(tensor) for tag, tensor in self._tensors.items()}

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._progress is None:
            step = int(session.run(self._global_step_tensor))
            self._progress = Progress(self._total_steps, initial=step, file=self._file, seconds=self._seconds)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._asked = self._progress is not None and self._progress.due
        return SessionRunArgs(self._current_tensors) if self._asked else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._asked and self._progress is not None:
            step = int(run_context.session.run(self._global_step_tensor))
            self._progress.update(step, run_values.results)

    def end(self, session: Any) -> None:
        if self._progress is not None:
            self._progress.reached(int(session.run(self._global_step_tensor)))
            self._progress.close()
            self._progress = None


def _tag(given: Any) -> str:
    return given if isinstance(given, str) else given.op.name
