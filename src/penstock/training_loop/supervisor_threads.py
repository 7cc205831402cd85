"""What a `Supervisor` does beside the steps: summaries, the speed, and checkpoints, each in a thread with a timer."""

from __future__ import annotations

import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock import logging
from penstock.train.coordinator import LooperThread
from penstock.train.global_step import global_step


class SVSummaryThread(LooperThread):
    """Writes the summaries of the supervisor's `summary_op`."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        step = None
        if self._sv.global_step is None:
            summaries = self._sess.run(self._sv.summary_op)
        else:
            summaries, step = self._sess.run([self._sv.summary_op, self._sv.global_step])
        if self._sv.summary_writer:
            logging.info("Recording summary at step %s.", step)
            self._sv.summary_writer.add_summary(summaries, step)


class SVStepCounterThread(LooperThread):
    """Writes and logs steps per second, counted by `step_counter`, by default the global step."""

    def __init__(self, sv: Any, sess: Any, step_counter: Any = None) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = f"{self._step_counter.op.name}/sec"
        self._last_time, self._last_step = 0.0, 0

    def start_loop(self) -> None:
        self._last_time, self._last_step = time.time(), global_step(self._sess, self._step_counter)

    def run_loop(self) -> None:
        step, now = global_step(self._sess, self._step_counter), time.time()
        steps, elapsed = step - self._last_step, now - self._last_time
        self._last_step, self._last_time = step, now
        speed = steps / elapsed if elapsed > 0 else float("inf")
        if self._sv.summary_writer:
            value = Summary.Value(tag=self._summary_tag, simple_value=speed)
            self._sv.summary_writer.add_summary(Summary(value=[value]), step)
        logging.log_first_n(logging.INFO, "%s: %g", 10, self._summary_tag, speed)


class SVTimerCheckpointThread(LooperThread):
    """Writes checkpoints."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        sv = self._sv
        logging.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer and sv.global_step is not None:
            log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=sv.save_path)
            sv.summary_writer.add_session_log(log, global_step(self._sess, sv.global_step))
