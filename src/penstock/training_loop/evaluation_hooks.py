"""Hooks of evaluations: so many batches, and summaries at the end (TF: tf.contrib.training)."""

from __future__ import annotations

from typing import Any

from penstock import logging
from penstock.export import export
from penstock.summary.functions import merge_all
from penstock.summary.writer import FileWriter, FileWriterCache
from penstock.train.global_step import get_or_create_global_step
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues


@export("contrib.training.StopAfterNEvalsHook")
class StopAfterNEvalsHook(SessionRunHook):
    """Ends an evaluation after `num_evals` batches; None for all."""

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals, self._log_progress = num_evals, log_progress
        self._evals_completed: Any = None
        self._log_frequency = 1 if num_evals is None or num_evals < 20 else num_evals // 10

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        """The number of batches, this one included; set by the loop that evaluates."""
        self._evals_completed = updated_eval_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs({"evals_completed": self._evals_completed})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        done, wanted = run_values.results["evals_completed"], self._num_evals
        if self._log_progress:
            if wanted is None:
                logging.info("Evaluation [%d]", done)
            elif done % self._log_frequency == 0 or done == wanted:
                logging.info("Evaluation [%d/%d]", done, wanted)
        if wanted is not None and done >= wanted:
            run_context.request_stop()


@export("contrib.training.SummaryAtEndHook")
class SummaryAtEndHook(SessionRunHook):
    """Writes a summary at the end of an evaluation."""

    def __init__(
        self,
        log_dir: Any = None,
        summary_writer: FileWriter | None = None,
        summary_op: Any = None,
        feed_dict: Any = None,
    ) -> None:
        """summary_writer: by default that of `log_dir`. summary_op: by default all summaries of the graph."""
        if summary_writer is None and log_dir is None:
            raise ValueError("Either log_dir or summary_writer must be given.")
        self._log_dir, self._summary_writer = log_dir, summary_writer
        self._given_summary_op, self._feed_dict = summary_op, feed_dict

    def begin(self) -> None:
        self._summary_op = merge_all() if self._given_summary_op is None else self._given_summary_op
        self._global_step = get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._summary_writer is None:
            self._summary_writer = FileWriterCache.get(self._log_dir)

    def end(self, session: Any) -> None:
        assert self._summary_writer is not None, "there is one since the session was created"
        step = session.run(self._global_step)
        if self._summary_op is not None:
            self._summary_writer.add_summary(session.run(self._summary_op, self._feed_dict), step)
        self._summary_writer.flush()
