"""RunConfig: its defaults, what can be replaced, and TF_CONFIG."""

from __future__ import annotations

import json
from typing import Any

import pytest

import penstock as tf
from penstock.estimator.run_config import RunConfig


def test_the_defaults_are_those_of_tensorflow() -> None:
    config = RunConfig()
    names = "model_dir tf_random_seed save_summary_steps save_checkpoints_steps save_checkpoints_secs session_config"
    assert [getattr(config, name) for name in names.split()] == [None, None, 100, None, 600, None]
    names = "keep_checkpoint_max keep_checkpoint_every_n_hours log_step_count_steps train_distribute device_fn"
    assert [getattr(config, name) for name in names.split()] == [5, 10000, 100, None, None]
    names = "task_type task_id master evaluation_master is_chief num_ps_replicas num_worker_replicas"
    assert [getattr(config, name) for name in names.split()] == ["worker", 0, "", "", True, 0, 1]
    assert not config.cluster_spec


def test_one_save_interval_replaces_the_other() -> None:
    steps = RunConfig(save_checkpoints_steps=10)
    assert (steps.save_checkpoints_steps, steps.save_checkpoints_secs) == (10, None)
    seconds = steps.replace(save_checkpoints_secs=5)
    assert (seconds.save_checkpoints_steps, seconds.save_checkpoints_secs) == (None, 5)
    assert steps.save_checkpoints_steps == 10
    with pytest.raises(ValueError, match="cannot be both set"):
        RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1)
    with pytest.raises(ValueError, match="cannot be both set"):
        steps.replace(save_checkpoints_steps=1, save_checkpoints_secs=1)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("model_dir", "", "model_dir should be non-empty"),
        ("tf_random_seed", 1.5, "tf_random_seed must be integer"),
        ("save_summary_steps", -1, "save_summary_steps should be >= 0"),
        ("save_checkpoints_secs", -1, "save_checkpoints_secs should be >= 0"),
        ("keep_checkpoint_max", -1, "keep_checkpoint_max should be >= 0"),
        ("keep_checkpoint_every_n_hours", 0, "keep_checkpoint_every_n_hours should be > 0"),
        ("log_step_count_steps", 0, "log_step_count_steps should be > 0"),
        ("session_config", {}, "session_config must be instance of ConfigProto"),
    ],
)
def test_values_are_checked(setting: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RunConfig(**{setting: value})
    with pytest.raises(ValueError, match=message):
        RunConfig().replace(**{setting: value})


def test_only_settings_can_be_replaced() -> None:
    with pytest.raises(ValueError, match="Replacing is_chief is not supported"):
        RunConfig().replace(is_chief=False)
    config = tf.ConfigProto(log_device_placement=True)
    assert RunConfig().replace(session_config=config).session_config == config


CLUSTER = {"chief": ["c:1"], "worker": ["a:1", "b:1"], "ps": ["p:1"]}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"cluster": CLUSTER, "task": {"type": "chief", "index": 0}}, ("chief", 0, True, 1, 3, 0)),
        ({"cluster": CLUSTER, "task": {"type": "worker", "index": 1}}, ("worker", 1, False, 1, 3, 2)),
        ({"cluster": CLUSTER, "task": {"type": "ps", "index": 0}}, ("ps", 0, False, 1, 3, 3)),
        ({"cluster": CLUSTER, "task": {"type": "evaluator", "index": 0}}, ("evaluator", 0, False, 0, 0, None)),
        ({"task": {"type": "worker", "index": 0}}, ("worker", 0, True, 0, 1, 0)),
    ],
)
def test_the_environment_says_which_task_this_is(
    environment: Any, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps(environment))
    c = RunConfig()
    found = (c.task_type, c.task_id, c.is_chief, c.num_ps_replicas, c.num_worker_replicas, c.global_id_in_cluster)
    assert found == expected


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}}, 'must have one "chief" node'),
        ({"cluster": CLUSTER, "task": {"index": 0}}, "task type must be set"),
        ({"cluster": CLUSTER, "task": {"type": "chief"}}, "task index must be set"),
        ({"cluster": CLUSTER, "task": {"type": "worker", "index": 2}}, "2 is not a valid task_id for task_type worker"),
        ({"cluster": {"chief": ["a"]}, "task": {"type": "worker", "index": 0}}, "worker is not a valid task_type"),
        ({"cluster": {**CLUSTER, "master": ["m"]}, "task": {}}, "job `chief` is not supported"),
        ({"task": {"type": "chief", "index": 0}}, "task type must be WORKER"),
        ({"model_dir": ""}, "model_dir in TF_CONFIG should be non-empty"),
    ],
)
def test_an_environment_that_contradicts_itself_is_refused(
    environment: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps(environment))
    with pytest.raises(ValueError, match=message):
        RunConfig()


def test_the_environment_may_hold_the_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps({"model_dir": "here"}))
    assert RunConfig().model_dir == "here"
    with pytest.raises(ValueError, match="must have the same value as the model_dir in TF_CONFIG"):
        RunConfig("there")
