"""What users write for a cluster's jobs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock import errors
from penstock.cluster.launch.plan import Needs, Plan, TaskPlan, byte_count, tasks_of
from penstock.cluster.spec import full_name


def test_jobs_are_written_as_text_or_as_a_dict() -> None:
    expected = (TaskPlan("worker", 0), TaskPlan("worker", 1), TaskPlan("ps", 0))
    assert tasks_of("worker=2, ps=1") == tasks_of({"worker": 2, "ps": 1}) == tasks_of("worker=2,ps") == expected


def test_a_job_may_have_needs_of_its_own() -> None:
    worker, ps = tasks_of({"worker": {"count": 1, "gpus": 2, "memory": "1.5G"}, "ps": 1}, Needs(cpus=3))
    assert worker.needs == Needs(3, 2, 3 << 29) and ps.needs == Needs(3)


@pytest.mark.parametrize(
    "jobs", ["", "worker=0", "worker=x", "a=1,a=2", {}, {"a": {"cpu": 1}}, {"a b": 1}, 3, {"a": -1}]
)
def test_other_jobs_are_refused(jobs: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError):
        tasks_of(jobs)


def test_amounts_of_memory() -> None:
    assert [byte_count(text) for text in ("7", "2K", "1MB", "1.5GiB", None, 9)] == [7, 2048, 1 << 20, 3 << 29, None, 9]
    with pytest.raises(errors.InvalidArgumentError, match="amount of memory"):
        byte_count("lots")


def test_a_plan_travels_as_json_and_names_the_task_that_sessions_connect_to() -> None:
    plan = Plan("name", tasks_of("ps=1,worker=2", Needs(memory=5)))
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert plan.leader == "/job:worker/replica:0/task:0"
    assert Plan("name", tasks_of("a=1,b=1")).leader == "/job:a/replica:0/task:0"
    with pytest.raises(errors.InvalidArgumentError, match="A cluster's name"):
        Plan("a/b", plan.tasks)


def test_tasks_have_short_names() -> None:
    names = ("/job:worker/replica:0/task:1", "/job:worker/task:1", "worker:1", "worker/1")
    assert {full_name(name) for name in names} == {names[0]}
    assert full_name("ps") == "/job:ps/replica:0/task:0"
