"""Variables as ops: assignments by reference and by handle, counters, and what a step sees of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.gradients.gradients import gradients
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import constant
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.graph.scopes import container, control_dependencies
from penstock.ops.basic import identity, placeholder
from penstock.ops.resource_variables import READ_VARIABLE_OP, VAR_HANDLE_OP, VARIABLE_SHAPE
from penstock.ops.state import ASSIGN, TEMPORARY_VARIABLE, VARIABLE, VARIABLE_V2
from penstock.session.session import Session
from penstock.tensor.shapes import TensorShape

NUMBERS = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "complex64",
]


@pytest.fixture
def session() -> Iterator[Session]:
    with Graph().as_default(), Session() as session:
        yield session


def ref(shape: Any = (2,), dtype: str = "float32", **attrs: Any) -> Any:
    return VARIABLE_V2(shape=shape, dtype=dtype, **attrs)


def handle(shape: Any = (2,), dtype: str = "float32", name: str = "h") -> Any:
    return VAR_HANDLE_OP(shape=shape, dtype=dtype, shared_name=name, name=name)


def read(h: Any) -> Any:
    return READ_VARIABLE_OP(h, dtype=h.op.attrs["dtype"])


# --- both kinds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool", "string"])
def test_an_assigned_value_is_read_back_in_later_steps(session: Session, dtype: str) -> None:
    value = [b"a", b"bc"] if dtype == "string" else [True, False] if dtype == "bool" else [3, 1]
    v, h = ref(dtype=dtype), handle(dtype=dtype)
    assign = [
        get_op("Assign")(v, constant(value, dtype)),
        get_op("AssignVariableOp")(h, constant(value, dtype)),
    ]
    reads = [identity(v), read(h)]
    assert session.run(assign[0]).tolist() == value
    session.run(assign[1])
    for found in session.run(reads):
        assert found.tolist() == value


@pytest.mark.parametrize("dtype", NUMBERS)
def test_assign_add_and_assign_sub_compute_in_every_number_type(session: Session, dtype: str) -> None:
    v, h = ref(dtype=dtype), handle(dtype=dtype)
    session.run([ASSIGN(v, constant([5, 7], dtype)), get_op("AssignVariableOp")(h, constant([5, 7], dtype))])
    delta = constant([2, 3], dtype)
    assert session.run(get_op("AssignAdd")(v, delta)).tolist() == [7, 10]
    assert session.run(get_op("AssignSub")(v, delta, use_locking=True)).tolist() == [5, 7]
    session.run(get_op("AssignAddVariableOp")(h, delta))
    assert session.run(read(h)).tolist() == [7, 10]
    session.run(get_op("AssignSubVariableOp")(h, delta))
    assert session.run(read(h)).tolist() == [5, 7]


def test_sums_of_unsigned_variables_wrap_around(session: Session) -> None:
    v = ref(dtype="uint32")
    session.run(ASSIGN(v, constant([2**32 - 1, 0], "uint32")))
    assert session.run(get_op("AssignAdd")(v, constant([2, 1], "uint32"))).tolist() == [1, 1]
    assert session.run(get_op("AssignSub")(v, constant([2, 1], "uint32"))).tolist() == [2**32 - 1, 0]


def test_reading_before_initialisation_names_the_variable(session: Session) -> None:
    v, h = ref(name="weights"), handle(name="biases")
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value weights"):
        session.run(identity(v))
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value biases"):
        session.run(read(h))
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value weights"):
        session.run(get_op("AssignAdd")(v, [1.0, 1.0]))


def test_whether_a_variable_is_initialised_can_be_asked_at_any_time(session: Session) -> None:
    v, h = ref(), handle()
    asked = [get_op("IsVariableInitialized")(v), get_op("VarIsInitializedOp")(h)]
    assert session.run(asked) == [False, False]
    session.run([ASSIGN(v, [1.0, 2.0]), get_op("AssignVariableOp")(h, constant([1.0, 2.0]))])
    assert session.run(asked) == [True, True]


def test_a_fed_array_may_change_after_it_was_assigned(session: Session) -> None:
    v, h, fed = ref(), handle(), placeholder("float32", [2])
    array = np.array([1, 2], "f4")
    session.run([ASSIGN(v, fed).op, get_op("AssignVariableOp")(h, fed)], {fed: array})
    array[:] = 9
    assert [x.tolist() for x in session.run([identity(v), read(h)])] == [[1, 2], [1, 2]]
    session.run(get_op("AssignAdd")(v, [1.0, 1.0]))
    assert array.tolist() == [9, 9]


def test_one_variable_assigned_to_another_stays_apart(session: Session) -> None:
    v, w = ref(), ref()
    session.run(ASSIGN(v, [1.0, 2.0]))
    session.run(ASSIGN(w, v))
    session.run(get_op("AssignAdd")(v, [1.0, 1.0]))
    assert session.run(identity(w)).tolist() == [1, 2]


def test_assigning_again_uses_the_same_memory(session: Session) -> None:
    v, h, fed = ref(), handle(), placeholder("float32", [2])
    assign = [ASSIGN(v, fed).op, get_op("AssignVariableOp")(h, fed)]
    resources = session._state.resources

    def addresses() -> list[int]:
        states = [resources.variable("", op.name, op.attrs["dtype"], op.attrs["shape"]) for op in (v.op, h.op)]
        return [s.value.data_ptr() for s in states]

    session.run(assign, {fed: [1, 2]})
    before = addresses()
    session.run(assign, {fed: [3, 4]})
    assert addresses() == before
    assert session.run(identity(v)).tolist() == [3, 4]


def test_a_variable_can_become_a_view_of_itself(session: Session) -> None:
    v = ref([2, 2])
    session.run(ASSIGN(v, [[1.0, 2.0], [3.0, 4.0]]))
    turned = get_op("Transpose")(identity(v), [1, 0])
    assert session.run(ASSIGN(v, turned)).tolist() == [[1, 3], [2, 4]]


def test_what_waits_for_an_update_sees_it_by_a_reference_and_not_by_a_resource(session: Session) -> None:
    """As in TensorFlow, whose reads of references are the memory itself. What is fetched is what was read."""
    v, h = ref(), handle()
    session.run([ASSIGN(v, [1.0, 2.0]), get_op("AssignVariableOp")(h, constant([1.0, 2.0]))])
    before = [identity(v), read(h)]
    with control_dependencies(before):
        update = [
            get_op("AssignAdd")(v, [1.0, 1.0]).op,
            get_op("AssignAddVariableOp")(h, constant([1.0, 1.0])),
        ]
    with control_dependencies(update):
        after = [identity(v), read(h)]
        doubled = [get_op("AddV2")(x, x) for x in before]
    found = session.run([before, after, doubled])
    assert [[x.tolist() for x in row] for row in found] == [[[1, 2]] * 2, [[2, 3]] * 2, [[4, 6], [2, 4]]]


def test_updates_under_lock_lose_nothing(session: Session) -> None:
    v = ref([1000])
    session.run(ASSIGN(v, np.zeros(1000, "f4")))
    update = get_op("AssignAdd")(v, np.ones(1000, "f4"), use_locking=True).op

    def work() -> None:
        for _ in range(50):
            session.run(update)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (session.run(identity(v)) == 200).all()


# --- shapes ---------------------------------------------------------------------------------------------


def test_assign_refuses_another_shape_when_built_and_when_run(session: Session) -> None:
    v, fed = ref(), placeholder("float32")
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)|2.*3"):
        ASSIGN(v, [1.0, 2.0, 3.0])
    assign = ASSIGN(v, fed)
    with pytest.raises(errors.InvalidArgumentError, match=r"lhs shape= \(2,\) rhs shape= \[3\]"):
        session.run(assign, {fed: [1, 2, 3]})
    session.run(assign, {fed: [1, 2]})
    with pytest.raises(errors.InvalidArgumentError, match=r"lhs shape= \[2\] rhs shape= \[3\]"):
        session.run(assign, {fed: [1, 2, 3]})
    with pytest.raises(errors.InvalidArgumentError, match=r"AssignAdd requires .* \[2\] rhs shape= \[\]"):
        session.run(get_op("AssignAdd")(v, fed), {fed: 1})
    assert session.run(identity(v)).tolist() == [1, 2]


def test_assign_without_validation_changes_the_shape(session: Session) -> None:
    v = ref(shape=TensorShape(None))
    session.run(ASSIGN(v, [1.0, 2.0]))
    assign = ASSIGN(v, [[3.0], [4.0], [5.0]], validate_shape=False)
    assert assign.shape.as_list() == [3, 1]
    assert session.run(assign).tolist() == [[3], [4], [5]]
    assert session.run(identity(v)).shape == (3, 1)


def test_a_validating_resource_assignment_refuses_another_shape(session: Session) -> None:
    h, fed = handle(), placeholder("float32")
    with pytest.raises(ValueError, match=r"\(2,\)"):
        get_op("AssignVariableOp")(h, constant([1.0]))
    assign = get_op("AssignVariableOp")(h, fed, validate_shape=True)
    with pytest.raises(errors.InvalidArgumentError, match=r"\(2,\) rhs shape= \[1\]"):
        session.run(assign, {fed: [1]})
    session.run(assign, {fed: [1, 2]})
    with pytest.raises(errors.InvalidArgumentError, match=r"\[2\] rhs shape= \[1\]"):
        session.run(assign, {fed: [1]})
    with pytest.raises(errors.InvalidArgumentError, match="AssignAddVariableOp requires"):
        session.run(get_op("AssignAddVariableOp")(h, fed), {fed: [1]})


def test_the_old_variable_op_takes_a_scalar_shape_for_unknown(session: Session) -> None:
    v = VARIABLE(shape=[], dtype="float32")
    assert v.shape.ndims is None
    assert session.run(ASSIGN(v, [1.0, 2.0])).tolist() == [1, 2]
    assert VARIABLE(shape=[3], dtype="float32").shape.as_list() == [3]


# --- containers, counters, temporaries ------------------------------------------------------------------


def test_nodes_with_one_shared_name_and_container_are_one_variable(session: Session) -> None:
    a, b, other = ref(shared_name="s"), ref(shared_name="s"), ref(shared_name="s", container="c")
    with container("c"):
        scoped = ref(shared_name="s")
    session.run([ASSIGN(a, [1.0, 2.0]).op, ASSIGN(other, [3.0, 4.0]).op])
    found = session.run([identity(b), identity(other), identity(scoped)])
    assert [x.tolist() for x in found] == [[1, 2], [3, 4], [3, 4]]


def test_count_up_to_stops_at_its_limit(session: Session) -> None:
    v, h = ref([], "int64"), handle([], "int32")
    session.run([ASSIGN(v, 0).op, get_op("AssignVariableOp")(h, constant(0))])
    for count in (get_op("CountUpTo")(v, limit=2), get_op("ResourceCountUpTo")(h, limit=2, T="int32")):
        assert [session.run(count), session.run(count)] == [0, 1]
        with pytest.raises(errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(count)
    assert session.run([identity(v), read(h)]) == [2, 2]


def test_a_temporary_variable_lives_in_one_step(session: Session) -> None:
    t = TEMPORARY_VARIABLE(shape=[2], dtype="float32", var_name="t")
    total = get_op("AssignAdd")(ASSIGN(t, [1.0, 2.0]), [1.0, 1.0])
    final = get_op("DestroyTemporaryVariable")(total, var_name="t")
    assert [session.run(final).tolist() for _ in range(2)] == [[2, 3], [2, 3]]
    assert session.run(identity(t)).shape == (2,)


def test_destroying_a_resource_forgets_its_value(session: Session) -> None:
    h = handle()
    destroy = get_op("DestroyResourceOp")
    session.run(destroy(h))
    session.run(get_op("AssignVariableOp")(h, constant([1.0, 2.0])))
    session.run(destroy(h))
    assert not session.run(get_op("VarIsInitializedOp")(h))
    with pytest.raises(errors.NotFoundError):
        session.run(destroy(h, ignore_lookup_error=False))


# --- reads of resources ---------------------------------------------------------------------------------


def test_a_handle_tells_the_static_shape(session: Session) -> None:
    h = handle([2, None])
    assert read(h).shape.as_list() == [2, None]
    assert VARIABLE_SHAPE(h).shape.as_list() == [2]
    reshaped = get_op("Reshape")(placeholder("float32"), VARIABLE_SHAPE(handle([3, 4], name="k")))
    assert reshaped.shape.as_list() == [3, 4]
    session.run(get_op("AssignVariableOp")(h, constant(np.zeros((2, 5), "f4"))))
    assert session.run([VARIABLE_SHAPE(h), VARIABLE_SHAPE(h, out_type="int64")])[1].tolist() == [2, 5]


@pytest.mark.parametrize("dtype", [*NUMBERS, "string"])
def test_resource_gather_takes_rows(session: Session, dtype: str) -> None:
    array = np.arange(6).reshape(3, 2)
    array = array.astype(str).astype(object) if dtype == "string" else array
    h = handle([3, 2], dtype)
    session.run(get_op("AssignVariableOp")(h, constant(array, dtype)))
    indices = constant([[2, 0], [1, 2]])
    rows = get_op("ResourceGather")(h, indices, dtype=dtype)
    assert rows.shape.as_list() == [2, 2, 2]
    expected = array[[[2, 0], [1, 2]]]
    found = session.run(rows)
    assert (np.vectorize(bytes.decode)(found) if dtype == "string" else found).tolist() == expected.tolist()
    elements = get_op("ResourceGatherNd")(h, constant([[2, 1], [0, 0]]), dtype=dtype)
    found = session.run(elements)
    expected = array[[2, 0], [1, 0]]
    assert (np.vectorize(bytes.decode)(found) if dtype == "string" else found).tolist() == expected.tolist()


def test_resource_gather_with_batches_takes_from_each_its_own(session: Session) -> None:
    array = np.arange(24, dtype="f4").reshape(2, 3, 4)
    h = handle([2, 3, 4])
    session.run(get_op("AssignVariableOp")(h, constant(array)))
    found = session.run(get_op("ResourceGather")(h, constant([[2], [0]]), batch_dims=1, dtype="float32"))
    np.testing.assert_array_equal(found, np.stack([array[0, [2]], array[1, [0]]]))


def test_what_was_gathered_is_a_copy(session: Session) -> None:
    h = handle([2])
    session.run(get_op("AssignVariableOp")(h, constant([1.0, 2.0])))
    rows = get_op("ResourceGather")(h, constant([0, 1]), dtype="float32")
    with control_dependencies([rows]):
        update = get_op("AssignAddVariableOp")(h, constant([1.0, 1.0]))
    with control_dependencies([update]):
        later = get_op("AddV2")(rows, rows)
    assert session.run(later).tolist() == [2, 4]


@pytest.mark.parametrize("bad", [3, -1])
def test_gathering_out_of_range_names_the_index(session: Session, bad: int) -> None:
    h = handle([3, 2])
    session.run(get_op("AssignVariableOp")(h, constant(np.zeros((3, 2), "f4"))))
    with pytest.raises(errors.InvalidArgumentError, match=rf"indices\[1\] = {bad} is not in \[0, 3\)"):
        session.run(get_op("ResourceGather")(h, constant([0, bad]), dtype="float32"))
    with pytest.raises(errors.InvalidArgumentError, match=rf"indices\[1\] = \[{bad}, 0\] does not index"):
        session.run(get_op("ResourceGatherNd")(h, constant([[0, 0], [bad, 0]]), dtype="float32"))


# --- gradients ------------------------------------------------------------------------------------------


def test_the_gradient_of_a_read_is_that_of_its_value(session: Session) -> None:
    h = handle()
    session.run(get_op("AssignVariableOp")(h, constant([2.0, 3.0])))
    value = read(h)
    (grad,) = gradients(get_op("Mul")(value, value), h)
    assert session.run(grad).tolist() == [4, 6]


@pytest.mark.parametrize("shape", [[3, 2], [3]])
def test_the_gradient_of_resource_gather_is_the_gathered_rows(session: Session, shape: list[int]) -> None:
    h = handle(shape)
    session.run(get_op("AssignVariableOp")(h, constant(np.ones(shape, "f4"))))
    rows = get_op("ResourceGather")(h, constant([[2, 0], [2, 2]]), dtype="float32")
    (grad,) = gradients(rows, h)
    assert isinstance(grad, IndexedSlices)
    assert grad.shape.as_list() == shape
    values, indices, dense = session.run([grad.values, grad.indices, grad.dense_shape])
    assert indices.tolist() == [2, 0, 2, 2]
    assert dense.tolist() == shape
    np.testing.assert_array_equal(values, np.ones([4, *shape[1:]]))


@pytest.mark.parametrize("indices", [[[2], [0], [2]], [[2, 1], [0, 0], [2, 1]]])
def test_the_gradient_of_resource_gather_nd_adds_repeats_up(session: Session, indices: Any) -> None:
    h = handle([3, 2])
    session.run(get_op("AssignVariableOp")(h, constant(np.ones((3, 2), "f4"))))
    found = get_op("ResourceGatherNd")(h, constant(indices), dtype="float32")
    weights = constant(np.arange(1.0, 4).reshape([3] + [1] * (found.shape.ndims - 1)), "float32")
    (grad,) = gradients(get_op("Mul")(found, weights), h)
    expected = np.zeros((3, 2))
    for weight, index in zip([1, 2, 3], indices, strict=True):
        expected[tuple(index)] += weight
    if isinstance(grad, IndexedSlices):
        dense = np.zeros((3, 2))
        np.add.at(dense, session.run(grad.indices), session.run(grad.values))
        np.testing.assert_array_equal(dense, expected)
    else:
        np.testing.assert_array_equal(session.run(grad), expected)


# --- temporary variables --------------------------------------------------------------------------------


def temporary(session: Session, name: str, values: Any = None) -> Any:
    ref = get_op("TemporaryVariable")(shape=[1, 2], dtype="float32", var_name=name)
    return ref if values is None else ASSIGN(ref, constant(values))


def destroyed(ref: Any, name: str) -> Any:
    return get_op("DestroyTemporaryVariable")(ref, var_name=name)


def test_a_temporary_variable_has_a_value_and_lives_for_a_step(session: Session) -> None:
    fresh = identity(temporary(session, "fresh"))
    last = destroyed(get_op("AssignAdd")(temporary(session, "sum", [[4.0, 5.0]]), constant([[6.0, 7.0]])), "sum")
    for _ in range(2):
        assert session.run(last).tolist() == [[10, 12]]
        assert session.run(fresh).shape == (1, 2)
    first = destroyed(temporary(session, "again", [[1.0, 2.0]]), "again")
    with control_dependencies([first]):
        second = destroyed(temporary(session, "again", [[3.0, 4.0]]), "again")
    assert session.run(first + second).tolist() == [[4, 6]]


def test_two_temporary_variables_of_one_name_are_refused(session: Session) -> None:
    both = temporary(session, "dup", [[1.0, 2.0]]) + temporary(session, "dup", [[3.0, 4.0]])
    for _ in range(2):
        with pytest.raises(errors.AlreadyExistsError, match="'dup'"):
            session.run(both)


def test_what_is_destroyed_must_be_there(session: Session) -> None:
    ref = temporary(session, "there", [[1.0, 2.0]])
    with pytest.raises(errors.NotFoundError, match="'bad'"):
        session.run(destroyed(ref, "bad"))
    with pytest.raises(errors.NotFoundError, match="'there'"):
        session.run(destroyed(ref, "there") + destroyed(ref, "there"))


def test_a_reference_handed_on_is_still_the_variable() -> None:
    v = tf.Variable(7)
    same = get_op("RefIdentity")(v._ref())
    with tf.control_dependencies([tf.assign(same, 9)]):
        after = tf.identity(same)
    with tf.Session() as session:
        session.run(v.initializer)
        assert (session.run(same), session.run(after), session.run(v)) == (7, 9, 9)
    assert same.dtype._is_ref_dtype
