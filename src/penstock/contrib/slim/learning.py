"""A training loop with checkpoints and summaries (TF: tf.contrib.slim.learning)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions

from penstock import errors, gfile, logging, summary, train as core
from penstock.client.lookup_tables import tables_initializer
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
from penstock.graph.scopes import control_dependencies, get_default_graph, name_scope
from penstock.ops.basic import group
from penstock.ops.compare import equal, greater_equal
from penstock.ops.division import floormod
from penstock.session.step_timeline import StepTimeline
from penstock.train.optimizer import Optimizer
from penstock.train.sync_replicas import SyncReplicasOptimizer
from penstock.training_loop import supervisor

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
    "summary_writer" and, for chrome://tracing, to "logdir"/tf_trace-N.json. Raises ValueError for "should_trace"
    without "logdir".
    """
    began = time.monotonic()
    options = metadata = None
    if "should_trace" in train_step_kwargs and "logdir" not in train_step_kwargs:
        raise ValueError("logdir must be present in train_step_kwargs when should_trace is present")
    if "should_trace" in train_step_kwargs and sess.run(train_step_kwargs["should_trace"]):
        options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    elapsed = time.monotonic() - began
    if metadata is not None:
        path = os.path.join(os.fspath(train_step_kwargs["logdir"]), f"tf_trace-{step}.json")
        logging.info("Writing trace to %s", path)
        with gfile.GFile(path, "w") as file:
            file.write(StepTimeline(metadata.step_stats).generate_chrome_trace_format())
        if train_step_kwargs.get("summary_writer") is not None:
            train_step_kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, elapsed)
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

    A `tf.train.Supervisor` continues from the latest checkpoint in `logdir`, or otherwise runs `init_op` (by default
    all initializers) and `init_fn(sess)`. Its threads write checkpoints every `save_interval_secs` and summaries
    (`summary_op`, by default all) every `save_summaries_secs`; at the end there is one more checkpoint. logdir: None
    for neither. train_step_fn: called like `train_step`. sync_optimizer: a SyncReplicasOptimizer, or several.
    OutOfRangeError, at the end of the data, also ends the loop. AbortedError, from a lost worker, restarts it from the
    latest checkpoint.

    Raises ValueError for invalid arguments, RuntimeError for uninitialised variables.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        for name, given in (
            ("summary_op", summary_op != _USE_DEFAULT),
            ("saver", saver is not None),
            ("trace_every_n_steps", trace_every_n_steps is not None),
        ):
            if given:
                raise ValueError(f"Cannot provide {name} because logdir=None")
    replicated = _sync_optimizers(sync_optimizer)
    if replicated and startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError(f"`number_of_steps` must be either None or a positive number, got {number_of_steps}")
    graph = graph or get_default_graph()
    with graph.as_default():
        step = core.get_or_create_global_step() if global_step is None else global_step
        saver = saver or core.Saver()
        with name_scope("init_ops"):
            init_op = global_variables_initializer() if init_op == _USE_DEFAULT else init_op
            ready_op = report_uninitialized_variables() if ready_op == _USE_DEFAULT else ready_op
            if local_init_op == _USE_DEFAULT:
                local_init_op = group(local_variables_initializer(), tables_initializer())
            ready_for_local_init_op = None
            if replicated:
                with control_dependencies([] if local_init_op is None else [local_init_op]):
                    local_init_op = group(
                        *(opt.chief_init_op if is_chief else opt.local_step_init_op for opt in replicated)
                    )
                ready_for_local_init_op = replicated[0].ready_for_local_init_op
        summary_op = summary.merge_all() if summary_op == _USE_DEFAULT else summary_op
        chief_runs = replicated if is_chief else []
        tokens = [opt.get_init_tokens_op() for opt in chief_runs]
        chief_queue_runners = [opt.get_chief_queue_runner() for opt in chief_runs]
        if train_step_kwargs == _USE_DEFAULT:
            train_step_kwargs = _step_settings(
                step, number_of_steps, log_every_n_steps, trace_every_n_steps if is_chief else None, logdir
            )
    sv = supervisor.Supervisor(
        graph, ready_op, ready_for_local_init_op, is_chief, init_op, init_feed_dict, local_init_op, logdir, summary_op,
        saver, step, save_summaries_secs, save_interval_secs, summary_writer=summary_writer, init_fn=init_fn,
    )  # fmt: skip
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = sv.summary_writer

    loss = None
    while True:
        try:
            with sv.managed_session(master, session_config, start_standard_services=False) as sess:
                logging.info("Starting Session.")
                if session_wrapper is not None:
                    logging.info("Wrapping session with wrapper function: %s", session_wrapper)
                    sess = session_wrapper(sess)
                if is_chief and logdir:
                    sv.start_standard_services(sess)
                elif not is_chief and startup_delay_steps > 0:
                    _wait_for_step(sess, step, min(startup_delay_steps, number_of_steps or sys.maxsize))
                threads = sv.start_queue_runners(sess)
                logging.info("Starting Queues.")
                if tokens:
                    sv.start_queue_runners(sess, chief_queue_runners)
                    sess.run(tokens)
                try:
                    while not sv.should_stop():
                        loss, stop = train_step_fn(sess, train_op, step, train_step_kwargs)
                        if stop:
                            logging.info("Stopping Training.")
                            sv.request_stop()
                except errors.OutOfRangeError as error:
                    logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
                if logdir and is_chief:
                    logging.info("Finished training! Saving model to disk.")
                    sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
                sv.stop(threads, close_summary_writer=True, ignore_live_threads=ignore_live_threads)
            return loss
        except errors.AbortedError:
            logging.info("Retrying training!")


def _sync_optimizers(given: Any) -> list[SyncReplicasOptimizer]:
    """`sync_optimizer` as a list; ValueError if something else is in it."""
    found = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    for optimizer in found:
        if not isinstance(optimizer, SyncReplicasOptimizer):
            raise ValueError("`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.")
    return found


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


def _wait_for_step(sess: Any, step: Any, wanted: int) -> None:
    """Wait until the other workers have taken `wanted` steps."""
    while core.global_step(sess, step) < wanted:
        logging.info("Waiting for step %d before starting training.", wanted)
        time.sleep(1.0)
