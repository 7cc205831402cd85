"""Training, evaluating and running a graph (TF: tf.contrib.learn.train, evaluate, infer, run_n, run_feeds)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock import errors, logging
from penstock.checkpoint.state import latest_checkpoint
from penstock.client.lookup_tables import tables_initializer
from penstock.client.variables import global_variables_initializer, local_variables_initializer
from penstock.contrib.learn.monitors import replace_monitors_with_hooks
from penstock.export import export
from penstock.graph.graph import Graph
from penstock.graph.scopes import graph_of
from penstock.session.session import Session
from penstock.summary.writer import FileWriter
from penstock.train.checkpoint_utils import load_variable
from penstock.train.coordinator import Coordinator
from penstock.train.global_step import get_global_step
from penstock.train.queue_runner import start_queue_runners
from penstock.train.saver import Saver
from penstock.training_loop.hooks import LoggingTensorHook, NanTensorHook, StopAtStepHook
from penstock.training_loop.monitored_session import MonitoredTrainingSession
from penstock.training_loop.scaffold import Scaffold

FeedFn = Callable[[], Mapping[Any, Any]]


@export("contrib.learn.train")
def train(
    graph: Graph,
    output_dir: str,
    train_op: Any,
    loss_op: Any,
    global_step_tensor: Any = None,
    init_op: Any = None,
    init_feed_dict: Any = None,
    init_fn: Callable[[Session], Any] | None = None,
    log_every_steps: int = 10,
    supervisor_is_chief: bool = True,
    supervisor_master: str = "",
    supervisor_save_model_secs: int = 600,
    keep_checkpoint_max: int = 5,
    supervisor_save_summaries_steps: int = 100,
    feed_fn: FeedFn | None = None,
    steps: int | None = None,
    fail_on_nan_loss: bool = True,
    monitors: Any = None,
    max_steps: int | None = None,
) -> Any:
    """Run `train_op`, `steps` times or until the global step is `max_steps`; returns the last loss.

    Continues from the latest checkpoint in `output_dir`, and saves there. Returns None if the model has been trained
    for `max_steps` before. Raises ValueError without `output_dir`, without a global step, or for both limits.
    """
    if not output_dir:
        raise ValueError(f"Output directory should be non-empty {output_dir}.")
    if steps is not None and max_steps is not None:
        raise ValueError("Can not provide both steps and max_steps.")
    with graph.as_default():
        step = _global_step(graph, global_step_tensor)
        if max_steps is not None and _saved_step(output_dir, step) >= max_steps:
            logging.info("Skipping training since max_steps has already saved.")
            return None
        hooks = [
            NanTensorHook(loss_op, fail_on_nan_loss),
            LoggingTensorHook({"loss": loss_op, "step": step}, every_n_iter=log_every_steps),
            *replace_monitors_with_hooks(monitors, None),
        ]
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        scaffold = Scaffold(
            init_op=init_op,
            init_feed_dict=init_feed_dict,
            init_fn=None if init_fn is None else lambda _, session: init_fn(session),
            saver=Saver(max_to_keep=keep_checkpoint_max, sharded=True, defer_build=True),
        )
        loss = None
        with MonitoredTrainingSession(
            supervisor_master,
            supervisor_is_chief,
            output_dir,
            scaffold,
            hooks,
            save_checkpoint_secs=supervisor_save_model_secs,
            save_summaries_steps=supervisor_save_summaries_steps,
            log_step_count_steps=log_every_steps,
        ) as session:
            while not session.should_stop():
                _, loss = session.run([train_op, loss_op], feed_fn() if feed_fn else None)
        return loss


def _global_step(graph: Graph, given: Any) -> Any:
    step = get_global_step(graph) if given is None else given
    if step is None:
        raise ValueError('No "global_step" was provided or created.')
    return step


def _saved_step(folder: str, step: Any) -> int:
    path = latest_checkpoint(Path(folder))
    return -1 if path is None else int(load_variable(path, step.op.name))


@export("contrib.learn.evaluate")
def evaluate(
    graph: Graph,
    output_dir: str,
    checkpoint_path: str | None,
    eval_dict: Mapping[str, Any],
    update_op: Any = None,
    global_step_tensor: Any = None,
    supervisor_master: str = "",
    log_every_steps: int = 10,
    feed_fn: FeedFn | None = None,
    max_steps: int | None = None,
) -> tuple[Any, int]:
    """Run `update_op` `max_steps` times, or until the input ends, then `eval_dict`; returns its values, which are
    also written to `output_dir` as summaries, and the checkpoint's global step.

    Without `update_op`, the values are those of the last step. checkpoint_path: None for initial values.
    """
    with graph.as_default():
        step = _global_step(graph, global_step_tensor)
        results, feed, count = None, None, 0
        with _running(graph, checkpoint_path, supervisor_master) as session:
            current = int(session.run(step))
            logging.info("Eval steps [%d,%s) for training step %d.", 0, max_steps or "inf", current)
            with contextlib.suppress(errors.OutOfRangeError, StopIteration):
                while max_steps is None or count < max_steps:
                    count += 1
                    feed = feed_fn() if feed_fn else None
                    if update_op is None:
                        results = session.run(eval_dict, feed)
                    else:
                        session.run(update_op, feed)
                    if count % log_every_steps == 0:
                        logging.info("Results after %d steps.", count)
            if update_op is not None:
                results = session.run(eval_dict, feed)
        _write(output_dir, results, current)
        return results, current


def _write(folder: str, results: Any, step: int) -> None:
    if not folder or not results:
        return
    summary = Summary()
    for name, value in sorted(results.items()):
        if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf":
            summary.value.add(tag=name, simple_value=float(value))
    with FileWriter(folder) as writer:
        writer.add_summary(summary, step)


@export("contrib.learn.infer")
def infer(restore_checkpoint_path: str | None, output_dict: Mapping[str, Any], feed_dict: Any = None) -> Any:
    """The values of `output_dict`, with variables from a checkpoint (None: initial ones)."""
    return run_n(output_dict, feed_dict, restore_checkpoint_path)[0]


@export("contrib.learn.run_n")
def run_n(
    output_dict: Mapping[str, Any], feed_dict: Any = None, restore_checkpoint_path: str | None = None, n: int = 1
) -> list[Any]:
    """The values of `output_dict` in each of `n` steps."""
    return run_feeds(output_dict, [feed_dict] * n, restore_checkpoint_path)


@export("contrib.learn.run_feeds")
def run_feeds(
    output_dict: Mapping[str, Any], feed_dicts: Iterable[Any], restore_checkpoint_path: str | None = None
) -> list[Any]:
    """The values of `output_dict` in a step for each of `feed_dicts`."""
    if not output_dict:
        raise ValueError(f"output_dict is invalid: {output_dict}.")
    with _running(graph_of(list(output_dict.values())), restore_checkpoint_path) as session:
        return [session.run(dict(output_dict), feed) for feed in feed_dicts]


@contextlib.contextmanager
def _running(graph: Graph, checkpoint_path: str | None, master: str = "") -> Iterator[Session]:
    """A session in which everything is initialised and queues are filled."""
    with graph.as_default(), Session(master) as session:
        if checkpoint_path is None:
            session.run(global_variables_initializer())
        else:
            Saver().restore(session, checkpoint_path)
        session.run([local_variables_initializer(), tables_initializer()])
        coordinator = Coordinator()
        threads = start_queue_runners(session, coordinator) if graph.get_collection("queue_runners") else []
        try:
            yield session
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=120, ignore_live_threads=True)
