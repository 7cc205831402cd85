"""A training loop with checkpoints and summaries (TF: tf.contrib.slim.learning)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions

from penstock import errors, logging, summary, train as core
from penstock.client.variables import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from penstock.contrib.training import train_ops
from penstock.contrib.training.train_ops import (
    add_gradients_summaries as add_gradients_summaries,
    clip_gradient_norms as clip_gradient_norms,
    multiply_gradients as multiply_gradients,
)
from penstock.graph.convert import constant
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, get_collection, get_default_graph, name_scope
from penstock.ops.basic import group
from penstock.ops.compare import equal, greater_equal
from penstock.ops.division import floormod
from penstock.session.session import Session
from penstock.train.coordinator import Coordinator
from penstock.train.optimizer import Optimizer
from penstock.train.queue_runner import start_queue_runners

_USE_GLOBAL_STEP = 0
_USE_DEFAULT = 0

StepFunction = Callable[[Any, Any, Any, dict[str, Any]], tuple[Any, bool]]


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: int | None = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Any = None,
    check_numerics: bool = True,
) -> Tensor:
    """`tf.contrib.training.create_train_op` with optional multipliers for gradients and clipping of each gradient's
    norm.

    TF: tf.contrib.slim.learning.create_train_op.
    """

    def transform(pairs: Any) -> Any:
        if gradient_multipliers:
            with name_scope("multiply_grads"):
                pairs = multiply_gradients(pairs, gradient_multipliers)
        if clip_gradient_norm > 0:
            with name_scope("clip_grads"):
                pairs = clip_gradient_norms(pairs, clip_gradient_norm)
        return pairs

    return train_ops.create_train_op(
        total_loss, optimizer, global_step, update_ops, variables_to_train, transform, summarize_gradients,
        gate_gradients, aggregation_method, colocate_gradients_with_ops, check_numerics,
    )  # fmt: skip


def train_step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: dict[str, Any]) -> tuple[Any, bool]:
    """One step: the loss, and whether to stop.

    train_step_kwargs: "should_stop", "should_log" and "should_trace" are bool tensors; a traced step goes to the
    "summary_writer".
    """
    began = time.monotonic()
    options = metadata = None
    if "should_trace" in train_step_kwargs and sess.run(train_step_kwargs["should_trace"]):
        options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    writer = train_step_kwargs.get("summary_writer")
    if metadata is not None and writer is not None:
        writer.add_run_metadata(metadata, f"run_metadata-{step}")
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, time.monotonic() - began)
    return loss, bool("should_stop" in train_step_kwargs and sess.run(train_step_kwargs["should_stop"]))


def train(
    train_op: Any,
    logdir: Any,
    train_step_fn: StepFunction = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: Any = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _USE_DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = _USE_DEFAULT,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: Any = _USE_DEFAULT,
    summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Run `train_op` until the global step is `number_of_steps`; returns the last loss (TF: slim.learning.train).

    It continues from the latest checkpoint in `logdir`, or otherwise runs `init_op` (by default all initializers) and
    `init_fn(sess)`. Checkpoints "model.ckpt-N" are written at the start, every `save_interval_secs` and at the end,
    summaries (`summary_op`, by default all) every `save_summaries_secs`; both between steps. logdir: None for neither.
    train_step_fn: called like `train_step`. OutOfRangeError, at the end of the data, also ends the loop. AbortedError,
    from a lost worker, restarts it from the latest checkpoint.

    Raises ValueError for invalid arguments, RuntimeError for uninitialised variables.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None and (summary_op != _USE_DEFAULT or saver is not None or trace_every_n_steps is not None):
        raise ValueError("Cannot provide summary_op, saver or trace_every_n_steps because logdir=None")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError(f"`number_of_steps` must be either None or a positive number, got {number_of_steps}")
    if sync_optimizer is not None:
        raise NotImplementedError("slim.learning.train takes no sync_optimizer: use tf.train.MonitoredTrainingSession")
    graph = graph or get_default_graph()
    with graph.as_default():
        step = core.get_or_create_global_step() if global_step is None else global_step
        saver = (saver or core.Saver()) if logdir is not None else None
        with name_scope("init_ops"):
            init_op = global_variables_initializer() if init_op == _USE_DEFAULT else init_op
            ready_op = report_uninitialized_variables() if ready_op == _USE_DEFAULT else ready_op
            if local_init_op == _USE_DEFAULT:
                local_init_op = group(local_variables_initializer(), *get_collection(GraphKeys.TABLE_INITIALIZERS))
        summary_op = summary.merge_all() if summary_op == _USE_DEFAULT else summary_op
        if train_step_kwargs == _USE_DEFAULT:
            train_step_kwargs = _step_settings(
                step, number_of_steps, log_every_n_steps, trace_every_n_steps if is_chief else None, logdir
            )
    writes = logdir is not None and is_chief
    if summary_writer == _USE_DEFAULT:
        summary_writer = summary.FileWriter(logdir, graph) if writes else None
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = summary_writer
    loss = None
    while True:
        try:
            with Session(master, graph, session_config) as opened:
                sess = opened if session_wrapper is None else session_wrapper(opened)
                if is_chief:
                    _prepare(sess, logdir, saver, init_op, init_feed_dict, init_fn, local_init_op, ready_op)
                else:
                    _wait(sess, ready_op, local_init_op, step, min(startup_delay_steps, number_of_steps or 2**63))
                duties = _Duties(
                    sess, step, saver if writes else None, logdir, save_interval_secs,
                    summary_op if writes else None, summary_writer, save_summaries_secs,
                )  # fmt: skip
                with _queue_runners(sess):
                    try:
                        stop = False
                        while not stop:
                            duties.save_if_due()
                            loss, stop = train_step_fn(sess, train_op, step, train_step_kwargs)
                            duties.summarize_if_due()
                    except errors.OutOfRangeError as error:
                        logging.info("Caught OutOfRangeError. Stopping training. %s", error)
                duties.save()
            break
        except errors.AbortedError as error:
            logging.info("Retrying training after %s", error)
    if summary_writer is not None:
        summary_writer.close()
    return loss


def _step_settings(
    step: Any, number_of_steps: int | None, log_every: int, trace_every: int | None, logdir: Any
) -> dict[str, Any]:
    """The arguments of `train_step`."""
    with name_scope("train_step"):
        stop = greater_equal(step, number_of_steps) if number_of_steps else constant(False)
        settings: dict[str, Any] = {"should_stop": stop}
        if log_every > 0:
            settings["should_log"] = equal(floormod(step, log_every), 0)
        if trace_every is not None:
            settings["should_trace"] = equal(floormod(step, trace_every), 0)
            settings["logdir"] = logdir
        return settings


def _prepare(
    sess: Any, logdir: Any, saver: Any, init_op: Any, feeds: Any, init_fn: Any, local_init_op: Any, ready_op: Any
) -> None:
    """Restore the latest checkpoint, or initialise."""
    latest = None if logdir is None else core.latest_checkpoint(logdir)
    if latest is not None:
        saver.restore(sess, latest)
    else:
        if init_op is not None:
            sess.run(init_op, feeds)
        if init_fn is not None:
            init_fn(sess)
    if local_init_op is not None:
        sess.run(local_init_op)
    missing = [] if ready_op is None else sess.run(ready_op)
    if len(missing):
        names = ", ".join(name.decode() for name in missing)
        raise RuntimeError(f"Variables not initialized: {names} (init_op and init_fn ran, or {latest} was restored)")


def _wait(sess: Any, ready_op: Any, local_init_op: Any, step: Any, first_step: int) -> None:
    """Wait until the chief has initialised the variables and taken `first_step` steps."""
    while ready_op is not None and len(sess.run(ready_op)):
        time.sleep(1.0)
        if local_init_op is not None:
            sess.run(local_init_op)
    while core.global_step(sess, step) < first_step:
        time.sleep(1.0)


@contextmanager
def _queue_runners(sess: Any) -> Iterator[None]:
    """Runs the graph's queue runners, if it has any."""
    if not get_collection(GraphKeys.QUEUE_RUNNERS):
        yield
        return
    coordinator = Coordinator()
    threads = start_queue_runners(sess, coordinator)
    try:
        yield
    finally:
        coordinator.request_stop()
        coordinator.join(threads, ignore_live_threads=True)


class _Duties:
    """What the chief does between steps. A saver or a summary op of None disables it."""

    def __init__(
        self, sess: Any, step: Any, saver: Any, logdir: Any, save_secs: float, summary_op: Any, writer: Any,
        summary_secs: float,
    ) -> None:  # fmt: skip
        self._sess, self._step = sess, step
        self._saver, self._save_secs = saver, save_secs
        self._path = None if logdir is None else os.path.join(os.fspath(logdir), "model.ckpt")
        self._summary_op, self._writer, self._summary_secs = summary_op, writer, summary_secs
        self._next_save = self._next_summary = time.monotonic()
        if saver is not None:
            os.makedirs(os.fspath(logdir), exist_ok=True)

    def save_if_due(self) -> None:
        if self._save_secs and time.monotonic() >= self._next_save:
            self._next_save = time.monotonic() + self._save_secs
            self.save()

    def save(self) -> None:
        if self._saver is not None:
            self._saver.save(self._sess, self._path, global_step=self._step)

    def summarize_if_due(self) -> None:
        if self._summary_op is None or self._writer is None or not self._summary_secs:
            return
        if time.monotonic() >= self._next_summary:
            self._next_summary = time.monotonic() + self._summary_secs
            values, at = self._sess.run([self._summary_op, self._step])
            self._writer.add_summary(values, at)
