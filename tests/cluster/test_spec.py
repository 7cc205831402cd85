"""ClusterSpec, ServerDef and Members (values as TensorFlow gives them)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import penstock as tf
from penstock import errors
from penstock.cluster.members import Members
from penstock.cluster.spec import disagreement, host_and_port


def test_a_spec_gives_back_what_it_was_made_from() -> None:
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": ["c:3"]})
    assert spec and spec.jobs == ["worker", "ps"]
    assert spec.as_dict() == {"worker": ["a:1", "b:2"], "ps": ["c:3"]}
    assert repr(spec) == "ClusterSpec({'ps': ['c:3'], 'worker': ['a:1', 'b:2']})"
    assert (spec.num_tasks("worker"), spec.task_indices("worker"), spec.job_tasks("ps")) == (2, [0, 1], ["c:3"])
    assert spec.task_address("worker", 1) == "b:2"
    assert not tf.train.ClusterSpec({})
    assert copy.deepcopy(spec) == spec


def test_a_job_may_leave_tasks_out() -> None:
    spec = tf.train.ClusterSpec({"worker": {3: "d:4", "1": "b:2"}})
    assert spec.as_dict() == {"worker": {1: "b:2", 3: "d:4"}}
    assert spec.num_tasks("worker") == 2 and spec.job_tasks("worker") == [None, "b:2", None, "d:4"]
    assert tf.train.ClusterSpec({"worker": {"0": "a:1"}}).as_dict() == {"worker": ["a:1"]}


def test_specs_are_equal_if_their_tasks_are() -> None:
    spec = tf.train.ClusterSpec({"a": ["x:1"]})
    assert spec == tf.train.ClusterSpec({"a": {0: "x:1"}}) and spec == {"a": {0: "x:1"}}
    assert spec != tf.train.ClusterSpec({"a": ["x:2"]})


def test_a_cluster_def_has_sorted_jobs_and_makes_the_same_spec() -> None:
    spec = tf.train.ClusterSpec({"worker": {1: "b:2"}, "ps": ["c:3"]})
    message = spec.as_cluster_def()
    assert isinstance(message, tf.train.ClusterDef)
    assert [(job.name, dict(job.tasks)) for job in message.job] == [("ps", {0: "c:3"}), ("worker", {1: "b:2"})]
    assert tf.train.ClusterSpec(message) == spec == tf.train.ClusterSpec(spec)
    assert tf.ConfigProto(cluster_def=message).cluster_def.job[0].name == "ps"
    server = tf.train.ServerDef(cluster=message, job_name="ps", protocol="grpc")
    server.default_session_config.device_count["CPU"] = 2
    again = tf.train.ServerDef.FromString(server.SerializeToString())
    assert again.cluster == message and again.job_name == "ps"
    assert tf.train.JobDef(name="ps") != message.job[0]


@pytest.mark.parametrize("bad", [3, {"a": 3}, {"a": [3]}, {3: ["a:1"]}, {"a": "b:1"}, None])
def test_what_is_no_cluster_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError):
        tf.train.ClusterSpec(bad)


def test_missing_jobs_and_tasks_are_named() -> None:
    spec = tf.train.ClusterSpec({"ps": ["c:3"]})
    for ask in (spec.num_tasks, spec.task_indices, spec.job_tasks):
        with pytest.raises(ValueError, match="No such job in cluster: 'worker'"):
            ask("worker")
    with pytest.raises(ValueError, match="No task with index 2 in job 'ps'"):
        spec.task_address("ps", 2)


def test_addresses_are_hosts_and_ports() -> None:
    assert host_and_port("grpc://a.b:22") == ("a.b", 22)
    assert host_and_port("[::1]:0") == ("::1", 0)
    for bad in ("a", ":1", "a:", "a:b", "a:70000"):
        with pytest.raises(errors.InvalidArgumentError, match="host:port"):
            host_and_port(bad)


def test_specs_that_disagree_say_about_which_task() -> None:
    def against(jobs: dict[str, Any]) -> str | None:
        spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": ["c:3"]})
        return disagreement(spec.addresses(), tf.train.ClusterSpec(jobs).addresses())

    assert against({"worker": {1: "0.0.0.0:2"}}) is None
    assert against({"ps": ["c:0"], "other": ["d:1"]}) is None
    assert against({"ps": ["c:4"]}) == "/job:ps/replica:0/task:0 is at c:3 in one and at c:4 in the other"
    assert against({"worker": ["a:1", "b:2", "d:5"]}) == "job 'worker' has 2 tasks in one and 3 in the other"


def test_members_follow_tasks_that_move() -> None:
    members = Members(tf.train.ClusterSpec({"worker": {1: "b:2"}, "ps": ["c:3"]}), "/job:ps/replica:0/task:0")
    members.update({"/job:worker/replica:0/task:1": "b:7", "/job:other/replica:0/task:0": "x:1"})
    assert members.spec.as_dict() == {"worker": {1: "b:7"}, "ps": ["c:3"]}
    assert members.address("/job:worker/replica:0/task:1") == "b:7"
    with pytest.raises(errors.NotFoundError, match="task:9 is not a task of this cluster"):
        members.address("/job:worker/replica:0/task:9")
