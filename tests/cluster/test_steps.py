"""Steps over several tasks: values, state, errors, deadlines, and tasks that end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.cluster.server import Server
from tests.anywhere import alarm as alarm
from tests.cluster.servers import free_ports, outside as outside, running

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def servers() -> Iterator[dict[str, Server]]:
    with running(worker=1, ps=1) as found:
        yield found


@pytest.fixture
def session(servers: dict[str, Server], outside: None) -> Iterator[tf.Session]:
    with tf.Session(servers["worker:0"].target) as session:
        yield session


def _line(value: float = 1.0) -> tuple[tf.Tensor, tf.Variable, tf.Operation]:
    with tf.device(PS):
        weights = tf.Variable(np.full((3, 3), value, np.float32), name="weights")
    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        loss = tf.reduce_sum(tf.square(tf.matmul(x, weights)))
    return x, weights, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def test_a_variable_of_a_parameter_server_is_trained_by_a_worker(session: tf.Session) -> None:
    x, weights, train = _line()
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(train, {x: np.eye(3)})
    assert np.allclose(session.run(weights), 0.8**3)


def test_state_outlives_sessions_and_is_shared_by_them(servers: dict[str, Server], outside: None) -> None:
    _, weights, _ = _line(7.0)
    with tf.Session(servers["worker:0"].target) as one:
        one.run(weights.initializer)
    with tf.Session(servers["ps:0"].target) as two, tf.Session(servers["worker:0"].target) as three:
        two.run(weights.assign_add(np.ones((3, 3))))
        assert np.all(three.run(weights) == 8)


def test_an_isolated_session_has_its_own_state(servers: dict[str, Server], outside: None) -> None:
    _, weights, _ = _line()
    target = servers["worker:0"].target
    with tf.Session(target) as shared, tf.Session(target, config=tf.ConfigProto(isolate_session_state=True)) as own:
        shared.run(weights.initializer)
        with pytest.raises(errors.FailedPreconditionError, match="weights"):
            own.run(weights)


def test_reset_clears_containers_of_all_tasks(servers: dict[str, Server], outside: None) -> None:
    with tf.device(PS), tf.container("kept"):
        kept = tf.Variable(1.0)
    with tf.device(PS), tf.container("cleared"):
        cleared = tf.Variable(1.0)
    target = servers["worker:0"].target
    with tf.Session(target) as session:
        session.run([kept.initializer, cleared.initializer])
        tf.Session.reset(target, ["cleared"])
        assert session.run(kept) == 1
        with pytest.raises(errors.FailedPreconditionError):
            session.run(cleared)


def test_the_devices_of_all_tasks_are_listed(session: tf.Session) -> None:
    names = [device.name for device in session.list_devices()]
    assert names == [
        "/job:worker/replica:0/task:0/device:CPU:0",
        "/job:ps/replica:0/task:0/device:CPU:0",
    ]


def test_device_filters_leave_tasks_out(servers: dict[str, Server], outside: None) -> None:
    config = tf.ConfigProto(device_filters=["/job:worker"])
    with tf.Session(servers["worker:0"].target, config=config) as session:
        assert [device.name for device in session.list_devices()] == ["/job:worker/replica:0/task:0/device:CPU:0"]
        with tf.device(PS):
            there = tf.constant(1.0)
        with pytest.raises(errors.InvalidArgumentError, match="/job:ps"):
            session.run(there)


def test_nodes_without_a_device_are_in_the_clients_own_task(servers: dict[str, Server]) -> None:
    for name, server in servers.items():
        with tf.Session(server.target) as session:
            metadata = tf.RunMetadata()
            x = tf.placeholder(tf.float32, [2])
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(tf.tanh(x), {x: [1, 2]}, options, metadata)
            (device,) = [each.device for each in metadata.step_stats.dev_stats]
            assert device.startswith(f"/job:{name[:-2]}/")


def test_an_error_names_the_node_its_line_and_the_task_and_has_the_traceback_from_there(session: tf.Session) -> None:
    x = tf.placeholder(tf.int32, [])
    with tf.device(PS):
        taken = tf.gather([1, 2, 3], x, name="taken")
    with tf.device(WORKER):
        y = tf.negative(taken)
    assert session.run(y, {x: 2}) == -3
    with pytest.raises(errors.InvalidArgumentError, match=r"(?s)taken.*/job:ps.*test_steps\.py") as caught:
        session.run(y, {x: 7})
    assert caught.value.op is taken.op
    assert "Traceback" in str(caught.value.__cause__)
    assert session.run(y, {x: 1}) == -2


def test_a_node_of_a_device_that_nobody_has_is_an_error_on_the_client(session: tf.Session) -> None:
    with tf.device("/job:ps/task:5"):
        lost = tf.constant(1.0, name="lost")
    with pytest.raises(errors.InvalidArgumentError, match=r"(?s)lost.*/job:ps/task:5.*test_steps"):
        session.run(lost)


def test_a_loop_over_two_tasks_needs_no_master(session: tf.Session) -> None:
    def body(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.device(PS):
            doubled = total * 2.0
        with tf.device(WORKER):
            return i + 1, doubled + 1.0

    with tf.device(WORKER):
        n = tf.placeholder(tf.int32, [])
        _, total = tf.while_loop(lambda i, _: i < n, body, [0, 0.0])
    for count in (0, 1, 5, 10):
        assert session.run(total, {n: count}) == 2.0**count - 1


def test_the_branch_of_a_condition_may_be_in_another_task(session: tf.Session) -> None:
    def there() -> tf.Tensor:
        with tf.device(PS):
            return tf.square(x)

    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [])
        y = tf.cond(x > 0, there, lambda: -x)
    assert session.run(y, {x: 3.0}) == 9
    assert session.run(y, {x: -3.0}) == 3


def test_a_queue_of_a_parameter_server_serves_several_clients(servers: dict[str, Server], outside: None) -> None:
    with tf.device(PS):
        queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]], shared_name="line")
        x = tf.placeholder(tf.float32, [])
        put, take = queue.enqueue(x), queue.dequeue()
    target = servers["worker:0"].target
    found: list[float] = []
    with tf.Session(target) as giver, tf.Session(target) as taker:
        thread = threading.Thread(target=lambda: found.append(taker.run(take)))
        thread.start()
        time.sleep(0.2)
        giver.run(put, {x: 4.0})
        thread.join(10)
    assert found == [4.0]


def test_a_step_that_waits_ends_at_its_deadline_everywhere(session: tf.Session) -> None:
    with tf.device(PS):
        queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
        taken = queue.dequeue()
    with tf.device(WORKER):
        y = taken + 1.0
    begin = time.monotonic()
    with pytest.raises(errors.DeadlineExceededError, match="timeout_in_ms=300"):
        session.run(y, options=tf.RunOptions(timeout_in_ms=300))
    assert time.monotonic() - begin < 5
    session.run(queue.enqueue(2.0))
    assert session.run(y) == 3.0


def test_closing_a_session_ends_its_steps_in_all_tasks(session: tf.Session) -> None:
    with tf.device(PS):
        taken = tf.FIFOQueue(10, [tf.float32], shapes=[[]]).dequeue()
    with tf.device(WORKER):
        y = taken + 1.0
    caught: list[Exception] = []

    def run() -> None:
        try:
            session.run(y)
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.3)
    session.close()
    thread.join(10)
    assert isinstance(caught[0], errors.CancelledError)


def test_the_failure_of_one_task_ends_what_others_wait_for(session: tf.Session) -> None:
    x = tf.placeholder(tf.int32, [])
    with tf.device(PS):
        waits = tf.FIFOQueue(10, [tf.float32], shapes=[[]]).dequeue()
    with tf.device(WORKER):
        fails = tf.gather([1, 2, 3], x)
        y = tf.to_float(fails) + waits
    with pytest.raises(errors.InvalidArgumentError):
        session.run(y, {x: 9})


@pytest.mark.parametrize("timeout", [0, 60_000])
def test_a_failure_elsewhere_ends_the_part_in_the_clients_own_process(servers: dict[str, Server], timeout: int) -> None:
    with tf.device(PS):
        x = tf.placeholder(tf.float32, [])
        checked = tf.check_numerics(tf.log(x), "of the parameter server")
    with tf.device(WORKER):
        y = checked + 1.0
    with tf.Session(servers["worker:0"].target) as session:
        options = tf.RunOptions(timeout_in_ms=timeout) if timeout else None
        begin = time.monotonic()
        with pytest.raises(errors.InvalidArgumentError, match=r"(?s)of the parameter server.*/job:ps"):
            session.run(y, {x: -1.0}, options)
        assert time.monotonic() - begin < 5
        assert session.run(y, {x: 1.0}, options) == 1.0


def test_a_parameter_server_that_is_lost_ends_the_part_in_the_clients_own_process(servers: dict[str, Server]) -> None:
    with tf.device(PS):
        taken = tf.FIFOQueue(10, [tf.float32], shapes=[[]]).dequeue()
    with tf.device(WORKER):
        y = taken + 1.0
    with tf.Session(servers["worker:0"].target) as session:
        timer = threading.Timer(0.5, servers["ps:0"].close)
        timer.start()
        with pytest.raises((errors.UnavailableError, errors.CancelledError), match="/job:ps"):
            session.run(y)
        timer.join()


@pytest.mark.parametrize("victim", ["ps:0", "worker:0"])
def test_a_task_that_is_gone_is_unavailable_and_a_new_one_is_another(
    servers: dict[str, Server], outside: None, victim: str
) -> None:
    x, weights, train = _line()
    other = next(server for name, server in servers.items() if name != victim)
    session = tf.Session(other.target)
    session.run(tf.global_variables_initializer())
    gone = servers[victim]
    spec, job = other.members.spec, victim[:-2]
    gone.close()
    with pytest.raises(errors.UnavailableError, match=f"/job:{job}"):
        session.run(train, {x: np.eye(3)})
    with Server(spec, job, 0):
        with pytest.raises(errors.AbortedError, match=f"/job:{job}.*started"):
            session.run(train, {x: np.eye(3)})
        session.close()
        with tf.Session(other.target) as again:
            if victim == "ps:0":
                with pytest.raises(errors.FailedPreconditionError, match="weights"):
                    again.run(train, {x: np.eye(3)})
                again.run(weights.initializer)
            again.run(train, {x: np.eye(3)})


def test_a_client_whose_task_was_replaced_writes_no_more(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a stop of its process, which lasted until another took its place."""
    _, weights, _ = _line()
    add = weights.assign_add(np.ones((3, 3)))
    old = servers["worker:0"]
    with tf.Session(old.target) as stale:
        stale.run([weights.initializer])
        stale.run(add)
        ports = iter(free_ports(1))
        spec = {"worker": [f"127.0.0.1:{next(ports)}"], "ps": old.members.spec.job_tasks("ps")}
        servers["ps:0"].members.update({"/job:worker/replica:0/task:0": spec["worker"][0]})
        with Server(spec, "worker", 0) as new, tf.Session(new.target) as session:
            assert np.all(session.run(weights) == 2)
            with pytest.raises(errors.AbortedError, match="/job:ps"):
                stale.run(add)
            assert np.all(session.run(weights) == 2)
        with pytest.raises(errors.FailedPreconditionError, match="/job:worker"):  # it does not know where it is
            tf.Session(old.target)


def test_a_target_where_nobody_listens_is_unavailable(outside: None) -> None:
    config = tf.ConfigProto(operation_timeout_in_ms=300)
    with pytest.raises(errors.UnavailableError, match="localhost:9"):
        tf.Session("grpc://localhost:9", config=config)


def test_a_fetched_value_never_changes(session: tf.Session) -> None:
    with tf.device(PS):
        weights = tf.Variable(np.zeros(4, np.float32))
        add = weights.assign_add(np.ones(4))
    session.run(weights.initializer)
    before = session.run(weights)
    session.run(add)
    assert before.tolist() == [0] * 4


def test_random_numbers_of_an_op_seed_are_those_of_a_local_session(session: tf.Session) -> None:
    with tf.device(PS):
        drawn = tf.random_uniform([3], seed=5)
    with tf.Session() as local, tf.device(None):
        expected = [session.run(drawn) for _ in range(2)]
        assert not np.array_equal(*expected)
    del local


def test_steps_of_many_threads_run_at_once(session: tf.Session) -> None:
    with tf.device(PS):
        weights = tf.Variable(np.arange(4, dtype=np.float32))
    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [4])
        y = x * weights
    session.run(weights.initializer)
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(20):
            if not np.array_equal(session.run(y, {x: np.full(4, number)}), number * np.arange(4)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_value_stays_on_the_task_that_made_it_and_other_tasks_fetch_it_by_its_handle(
    session: tf.Session, servers: dict[str, Server]
) -> None:
    with tf.device(PS):
        make = tf.get_session_handle(tf.constant([1.0, 2.0]))
    handle = session.run(make)
    assert handle.handle.endswith("/job:ps/replica:0/task:0/device:CPU:0")
    holder, kept = tf.get_session_tensor(handle.handle, tf.float32)
    assert kept.device.startswith("/job:ps")
    with tf.device(WORKER):
        more = tf.get_session_handle(kept * 2.0)
    other = session.run(more, {holder: handle.handle})
    assert "/job:worker" in other.handle and other.eval().tolist() == [2, 4]
    assert session.run(kept, {holder: other.handle}).tolist() == [2, 4]
    _, delete = tf.delete_session_tensor(handle.handle)
    session.run(delete, {delete.inputs[0]: other.handle})
    with pytest.raises(errors.InvalidArgumentError, match=r"(?s)not in the session store.*test_steps\.py"):
        session.run(kept, {holder: other.handle})
    gone = handle.handle
    del handle  # freed with the next step that uses handles
    with pytest.raises(errors.InvalidArgumentError, match="not in the session store"):
        session.run(kept, {holder: gone})


def test_kept_values_go_with_their_session(servers: dict[str, Server], outside: None) -> None:
    make = tf.get_session_handle(tf.constant(5.0))
    with tf.Session(servers["worker:0"].target) as one:
        handle = one.run(make)
        worker = servers["worker:0"].worker
        (theirs,) = worker._sessions.values()
        assert list(theirs.kept._values) == [handle.handle]
    give_up = time.monotonic() + 10
    while theirs.kept._values and time.monotonic() < give_up:  # the task hears of the end a moment later
        time.sleep(0.001)
    with pytest.raises(errors.AbortedError, match="does not know this session"):
        handle.eval()
    assert not theirs.kept._values
