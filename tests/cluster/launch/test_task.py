"""A task of a started cluster."""

from __future__ import annotations

import threading

from penstock.cluster.launch.plan import Plan, tasks_of
from penstock.cluster.launch.task import make_server, tell_addresses
from penstock.cluster.spec import full_name
from penstock.cluster.worker.messages import Description


def test_a_task_answers_clients_only_when_it_knows_where_the_others_are() -> None:
    """Otherwise a client that comes while two tasks are being replaced would look for the second at port 0."""
    plan = Plan("test", tasks_of("worker=2"), token=b"secret".hex())
    with make_server(plan, plan.tasks[0], "") as server:
        found: list[Description] = []
        asking = threading.Thread(target=lambda: found.append(server.worker.describe(None)))
        asking.start()
        asking.join(0.2)
        assert not found
        tell_addresses(server, {full_name("worker:1"): "127.0.0.1:1234"})
        asking.join(10)
        assert found[0].addresses[full_name("worker:1")] == "127.0.0.1:1234"
