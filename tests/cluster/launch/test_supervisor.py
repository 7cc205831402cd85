"""What becomes of tasks, with a crew that only notes what it is told."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from penstock.cluster.launch.plan import Plan, TaskPlan, tasks_of
from penstock.cluster.launch.supervisor import Died, Said, Started, Supervisor, Updated

W0, W1, PS = (f"/job:{job}/replica:0/task:{index}" for job, index in (("worker", 0), ("worker", 1), ("ps", 0)))


class _Crew:
    def __init__(self) -> None:
        self.did: list[tuple[str, ...]] = []
        self.addresses: dict[str, Mapping[str, str]] = {}

    def start(self, task: TaskPlan, address: str) -> None:
        self.did.append(("start", task.name, address))

    def update(self, task: str, addresses: Mapping[str, str], version: int) -> None:
        self.did.append(("update", task, str(version)))
        self.addresses[task] = addresses

    def kill(self, task: str) -> None:
        self.did.append(("kill", task))

    def close(self) -> None:
        self.did.append(("close",))

    def taken(self) -> list[tuple[str, ...]]:
        did, self.did = self.did, []
        return did


def _running(replace: bool = True) -> tuple[Supervisor, _Crew]:
    crew = _Crew()
    supervisor = Supervisor(Plan("test", tasks_of("worker=2,ps=1"), replace=replace), crew)
    supervisor.begin()
    for number, task in enumerate((W0, W1, PS)):
        supervisor.happened(task, Started(f"host:{number}", number, 100 + number))
    for task in (W0, W1, PS):
        supervisor.happened(task, Updated(1))
    return supervisor, crew


def _states(supervisor: Supervisor) -> list[str]:
    return [member.state for member in supervisor.members.values()]


def test_tasks_get_to_know_each_other_as_soon_as_all_have_addresses() -> None:
    crew = _Crew()
    supervisor = Supervisor(Plan("test", tasks_of("worker=2,ps=1")), crew)
    supervisor.begin()
    assert crew.taken() == [("start", W0, ""), ("start", W1, ""), ("start", PS, "")]
    supervisor.happened(W0, Started("host:0", 10, 1))
    supervisor.happened(PS, Started("host:2", 12, 3))
    assert crew.taken() == [] and _states(supervisor) == ["listening", "starting", "listening"]
    supervisor.happened(W1, Started("host:1", 11, 2))
    assert crew.taken() == [("update", W0, "1"), ("update", W1, "1"), ("update", PS, "1")]
    assert crew.addresses[PS] == {W0: "host:0", W1: "host:1", PS: "host:2"}
    supervisor.happened(W1, Updated(1))
    assert _states(supervisor) == ["listening", "ready", "listening"]


def test_a_dead_task_is_replaced_where_it_was_and_all_learn_where_it_is() -> None:
    supervisor, crew = _running()
    assert _states(supervisor) == ["ready"] * 3
    crew.taken()
    supervisor.happened(PS, Died("was killed by SIGKILL"))
    assert crew.taken() == [("start", PS, "host:2")]
    assert _states(supervisor) == ["ready", "ready", "starting"]
    supervisor.happened(PS, Started("host:9", 13, 104))
    assert _states(supervisor) == ["listening"] * 3, "the others do not know yet that it is elsewhere"
    for task in (W0, W1, PS):
        supervisor.happened(task, Updated(2))
    assert _states(supervisor) == ["ready"] * 3 and crew.addresses[W0][PS] == "host:9"
    public = supervisor.members[PS].public()
    assert (public["restarts"], public["why"], public["incarnation"]) == (1, "was killed by SIGKILL", 104)


def test_an_answer_to_an_older_update_does_not_count() -> None:
    supervisor, _ = _running()
    supervisor.happened(PS, Died("ended"))
    supervisor.happened(PS, Started("host:9", 13, 104))
    supervisor.happened(W0, Updated(1))
    assert _states(supervisor)[0] == "listening"


def test_a_killed_task_is_not_ready_even_before_it_has_ended() -> None:
    supervisor, crew = _running()
    crew.taken()
    supervisor.kill(W1)
    supervisor.kill(W1)
    assert crew.taken() == [("kill", W1)] and _states(supervisor)[1] == "killed"
    supervisor.happened(W1, Died("was killed by SIGKILL"))
    assert _states(supervisor)[1] == "starting"


def test_a_task_that_does_not_even_start_is_given_up() -> None:
    supervisor, crew = _running()
    crew.taken()
    supervisor.happened(W1, Died("was killed by SIGKILL"))
    for _ in range(3):
        supervisor.happened(W1, Died("ended with status 1"))
    assert crew.taken() == [("start", W1, "host:1")] * 3
    assert _states(supervisor) == ["ready", "failed", "ready"]


@pytest.mark.parametrize("died", [1, 2])
def test_a_task_is_not_replaced_if_nobody_wants_that_and_the_others_go_on(died: int) -> None:
    supervisor, crew = _running(replace=False)
    crew.taken()
    for task in (W1, PS)[:died]:
        supervisor.happened(task, Died("ended with status 1"))
    assert crew.taken() == [] and _states(supervisor) == ["ready", *["dead"] * died, *["ready"] * (2 - died)]


def test_what_a_task_wrote_last_is_kept_beyond_its_death() -> None:
    supervisor, _ = _running()
    supervisor.happened(W0, Said(b"first\n"))
    text, end = supervisor.output(W0, 0)
    assert text == "first\n"
    supervisor.happened(W0, Said("größer\n".encode()))
    assert supervisor.output(W0, end)[0] == "größer\n"
    supervisor.happened(W0, Died("ended with status 3"))
    assert "ended with status 3" in supervisor.output(W0, 0)[0]
    for _ in range(40):
        supervisor.happened(W0, Said(b"x" * (1 << 16)))
    assert len(supervisor.output(W0, 0)[0]) <= (1 << 20) + (1 << 16)


def test_nothing_is_replaced_while_the_cluster_stops() -> None:
    supervisor, crew = _running()
    crew.taken()
    supervisor.close()
    supervisor.happened(W0, Died("ended"))
    assert crew.taken() == [("close",)] and _states(supervisor) == ["stopped"] * 3


def test_each_change_has_a_number_and_is_announced() -> None:
    changes: list[int] = []
    supervisor = Supervisor(Plan("test", tasks_of("a=1")), _Crew(), lambda: changes.append(supervisor.version))
    supervisor.happened("/job:a/replica:0/task:0", Said(b"not a change"))
    supervisor.happened("/job:a/replica:0/task:0", Started("host:1", 1, 1))
    supervisor.happened("/job:a/replica:0/task:0", Updated(1))
    assert changes == [1, 2]
