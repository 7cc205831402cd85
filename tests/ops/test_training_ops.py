"""Optimizer updates: reference and resource ops, dense and sparse, against the formulas in NumPy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from penstock import errors
from penstock.graph.convert import constant
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op, registered_ops
from penstock.ops.basic import placeholder
from penstock.session.session import Session
from penstock.tensor.dtypes import as_dtype
from tests.ops import training_formulas as formulas

W = [[1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [-0.125, 0.75, 2.0], [1.5, -0.5, -3.0]]
POSITIVE = [[0.1, 0.2, 0.5], [0.4, 0.3, 1.0], [2.0, 0.6, 0.15], [0.7, 0.9, 0.8]]
GRAD = [[0.5, -1.0, 0.25], [-0.75, 0.1, 2.0], [1.0, 0.3, -0.2], [-0.4, 0.6, 0.05]]


@dataclass
class UpdateCase:
    """`name` on `states` and `values` (the gradient under the key "grad" or "delta") does what `ref` does."""

    name: str
    states: list[Any]
    values: dict[str, Any]
    ref: Callable[..., formulas.State]
    attrs: dict[str, Any] = field(default_factory=dict)
    sparse: bool = True
    ref_op: bool = True

    def __str__(self) -> str:
        attrs = ",".join(f"{k}={v}" for k, v in self.attrs.items())
        return self.name + (f"{{{attrs}}}" if attrs else "")


LARGE_W, LARGE_POSITIVE, LARGE_GRAD = (np.tile(np.float32(x), (500, 1)) for x in (W, POSITIVE, GRAD))
"""Of a size at which some updates are done in one pass over memory."""

RMS = {"lr": 0.1, "rho": 0.9, "momentum": 0.5, "epsilon": 0.01, "grad": GRAD}
ADAM = {"beta1_power": 0.81, "beta2_power": 0.998, "lr": 0.1, "beta1": 0.9, "beta2": 0.999, "epsilon": 0.001}
FTRL = {"grad": GRAD, "lr": 0.3, "l1": 0.2, "l2": 0.1, "lr_power": -0.5}
MOMENTUM = {"lr": 0.1, "grad": GRAD, "momentum": 0.9}

CASES = [
    UpdateCase("GradientDescent", [W], {"alpha": 0.1, "delta": GRAD}, formulas.gradient_descent, sparse=False),
    UpdateCase("Momentum", [W, POSITIVE], MOMENTUM, formulas.momentum),
    UpdateCase("Momentum", [W, POSITIVE], MOMENTUM, formulas.nesterov_momentum, {"use_nesterov": True}),
    UpdateCase("Momentum", [W, POSITIVE], MOMENTUM, formulas.momentum, {"use_locking": True}),
    UpdateCase(
        "Momentum", [LARGE_W, LARGE_POSITIVE], {**MOMENTUM, "grad": LARGE_GRAD}, formulas.momentum, sparse=False
    ),
    UpdateCase("Adagrad", [W, POSITIVE], {"lr": 0.1, "grad": GRAD}, formulas.adagrad),
    UpdateCase("Adagrad", [W, POSITIVE], {"lr": 0.1, "grad": GRAD}, formulas.adagrad_fixed, {"update_slots": False}),
    UpdateCase("AdagradV2", [W, POSITIVE], {"lr": 0.1, "epsilon": 0.05, "grad": GRAD}, formulas.adagrad_v2),
    UpdateCase(
        "Adadelta",
        [W, POSITIVE, POSITIVE],
        {"lr": 0.5, "rho": 0.9, "epsilon": 0.01, "grad": GRAD},
        formulas.adadelta,
    ),
    UpdateCase(
        "AdagradDA",
        [W, GRAD, POSITIVE],
        {"grad": W, "lr": 0.5, "l1": 0.1, "l2": 0.3, "global_step": np.int64(7)},
        formulas.adagrad_da,
    ),
    UpdateCase("Adam", [W, GRAD, POSITIVE], {**ADAM, "grad": W}, formulas.adam, sparse=False),
    UpdateCase("Adam", [LARGE_W, LARGE_GRAD, LARGE_POSITIVE], {**ADAM, "grad": LARGE_W}, formulas.adam, sparse=False),
    UpdateCase(
        "Adam",
        [W, GRAD, POSITIVE],
        {**ADAM, "grad": W},
        formulas.nesterov_adam,
        {"use_nesterov": True},
        False,
    ),
    UpdateCase(
        "AdaMax",
        [W, GRAD, POSITIVE],
        {"beta1_power": 0.81, "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "epsilon": 0.001, "grad": W},
        formulas.ada_max,
        sparse=False,
    ),
    UpdateCase(
        "AddSign",
        [W, POSITIVE],
        {"lr": 0.1, "alpha": 1.5, "sign_decay": 0.9, "beta": 0.8, "grad": GRAD},
        formulas.add_sign,
        sparse=False,
    ),
    UpdateCase(
        "PowerSign",
        [W, POSITIVE],
        {"lr": 0.1, "logbase": 1.2, "sign_decay": 0.9, "beta": 0.8, "grad": GRAD},
        formulas.power_sign,
        sparse=False,
    ),
    UpdateCase("KerasMomentum", [W, POSITIVE], MOMENTUM, formulas.keras_momentum, ref_op=False),
    UpdateCase("KerasMomentum", [W, POSITIVE], MOMENTUM, formulas.keras_nesterov, {"use_nesterov": True}, ref_op=False),
    UpdateCase(
        "AdamWithAmsgrad",
        [W, np.multiply(GRAD, 0.1), POSITIVE, POSITIVE],
        {
            "beta1_power": 0.81,
            "beta2_power": 0.98,
            "lr": 0.1,
            "beta1": 0.9,
            "beta2": 0.5,
            "epsilon": 0.01,
            "grad": GRAD,
        },
        formulas.amsgrad,
        sparse=False,
        ref_op=False,
    ),
    UpdateCase("RMSProp", [W, POSITIVE, GRAD], RMS, formulas.rms_prop),
    UpdateCase("CenteredRMSProp", [W, np.multiply(GRAD, 0.1), POSITIVE, GRAD], RMS, formulas.centered_rms_prop),
    UpdateCase("Ftrl", [W, POSITIVE, GRAD], FTRL, formulas.ftrl),
    UpdateCase("Ftrl", [W, POSITIVE, GRAD], {**FTRL, "lr_power": -0.8}, formulas.ftrl),
    UpdateCase("Ftrl", [W, POSITIVE, GRAD], FTRL, formulas.ftrl_by_rate, {"multiply_linear_by_lr": True}),
    UpdateCase(
        "FtrlV2",
        [W, POSITIVE, GRAD],
        {"grad": GRAD, "lr": 0.3, "l1": 0.2, "l2": 0.1, "l2_shrinkage": 0.05, "lr_power": -0.5},
        formulas.ftrl_v2,
    ),
    UpdateCase(
        "ProximalGradientDescent",
        [W],
        {"alpha": 0.5, "l1": 0.7, "l2": 0.3, "delta": GRAD},
        formulas.proximal_gradient_descent,
    ),
    UpdateCase(
        "ProximalAdagrad",
        [W, POSITIVE],
        {"lr": 0.5, "l1": 0.7, "l2": 0.3, "grad": GRAD},
        formulas.proximal_adagrad,
    ),
]


class Variables:
    """Variables of a graph, of either kind, with a session that has initialised them."""

    def __init__(self, values: list[np.ndarray], kind: str, shape: Any = "known") -> None:
        self.kind = kind
        self.handles, self.reads, starts = [], [], []
        for i, value in enumerate(values):
            dtype = as_dtype(value.dtype)
            declared = value.shape if shape == "known" else shape
            if kind == "ref":
                ref = get_op("VariableV2")(shape=declared, dtype=dtype, name=f"state{i}")
                starts.append(get_op("Assign")(ref, constant(value), validate_shape=declared is not None))
                self.reads.append(ref)
            else:
                ref = get_op("VarHandleOp")(shape=declared, dtype=dtype, shared_name=f"state{i}")
                starts.append(get_op("AssignVariableOp")(ref, constant(value), validate_shape=declared is not None))
                self.reads.append(get_op("ReadVariableOp")(ref, dtype=dtype))
            self.handles.append(ref)
        self.session = Session()
        self.session.run(starts)

    def values(self) -> list[np.ndarray]:
        return self.session.run(self.reads)


def dtyped(value: Any, dtype: Any) -> np.ndarray:
    array = np.asarray(value)
    return array if array.dtype == np.int64 else array.astype(dtype)


def op_name(case: UpdateCase, kind: str, sparse: bool) -> str:
    return ("Resource" if kind == "resource" else "") + ("Sparse" if sparse else "") + f"Apply{case.name}"


KINDS = ["ref", "resource"]


def of_kinds(cases: list[UpdateCase]) -> list[Any]:
    return [pytest.param(case, kind, id=f"{case}-{kind}") for case in cases for kind in KINDS[not case.ref_op :]]


@pytest.mark.parametrize("fed", [False, True], ids=["constants", "fed"])
@pytest.mark.parametrize(("case", "kind"), of_kinds(CASES))
def test_dense_update_does_what_the_formula_says(case: UpdateCase, kind: str, fed: bool) -> None:
    for dtype in (np.float32, np.float64):
        states = [dtyped(s, dtype) for s in case.states]
        values = [dtyped(v, dtype) for v in case.values.values()]
        with Graph().as_default():
            variables = Variables(states, kind)
            inputs: list[Any] = [placeholder(as_dtype(v.dtype)) if fed else constant(v) for v in values]
            update = get_op(op_name(case, kind, False))(*variables.handles, *inputs, **case.attrs)
            found = variables.session.run(update, dict(zip(inputs, values, strict=True)) if fed else None)
            expected = case.ref(*(np.asarray(s, np.float64) for s in states), *values)
            for have, want in zip(variables.values(), expected, strict=True):
                np.testing.assert_allclose(have, want, rtol=2e-5, atol=1e-6)
            if kind == "ref":
                np.testing.assert_array_equal(found, variables.values()[0])
            else:
                assert found is None


INDICES = np.array([3, 0, 3])


@pytest.mark.parametrize(("case", "kind"), of_kinds([c for c in CASES if c.sparse]))
def test_sparse_update_changes_the_named_rows_in_turn(case: UpdateCase, kind: str) -> None:
    states = [np.asarray(s, np.float32) for s in case.states]
    grad_name = "delta" if "delta" in case.values else "grad"
    grad = np.asarray(case.values[grad_name], np.float32)[1:]
    op = get_op(op_name(case, kind, True))
    scalars = {k: dtyped(v, np.float32) for k, v in case.values.items() if k != grad_name}
    for index_type in (np.int32, np.int64):
        with Graph().as_default():
            variables = Variables(states, kind)
            names = [arg.name for arg in op.inputs[len(states) :]]
            given = {**scalars, "grad": grad, "indices": INDICES.astype(index_type)}
            update = op(*variables.handles, *(constant(given[name]) for name in names), **case.attrs)
            variables.session.run(update)
            expected = [s.astype(np.float64) for s in states]
            for row, row_grad in zip(INDICES, grad, strict=True):
                values = [row_grad if k == grad_name else scalars[k] for k in case.values]
                for whole, changed in zip(expected, case.ref(*(e[row] for e in expected), *values), strict=True):
                    whole[row] = changed
            for have, want in zip(variables.values(), expected, strict=True):
                np.testing.assert_allclose(have, want, rtol=2e-5, atol=1e-6)


def test_every_update_op_has_a_case() -> None:
    covered = {op_name(case, kind, sparse) for case in CASES for kind in KINDS for sparse in (False, case.sparse)}
    registered = {
        name for name in registered_ops() if name.startswith(("Apply", "ResourceApply")) or "SparseApply" in name
    }
    assert registered - covered == set()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_updates_take_small_floats_and_complex_numbers(dtype: str) -> None:
    np_dtype = as_dtype(dtype).as_numpy_dtype
    case = CASES[1]
    states = [np.asarray(s).astype(np_dtype) for s in case.states]
    with Graph().as_default():
        variables = Variables(states, "ref")
        values = [constant(np.asarray(v).astype(np_dtype)) for v in case.values.values()]
        variables.session.run(get_op("ApplyMomentum")(*variables.handles, *values))
        expected = case.ref(*map(np.asarray, case.states), *map(np.asarray, case.values.values()))
        for have, want in zip(variables.values(), expected, strict=True):
            np.testing.assert_allclose(have.astype(complex), want, rtol=2e-2, atol=2e-2)


def test_shapes_that_differ_are_refused_when_the_graph_is_built() -> None:
    with Graph().as_default():
        variables = Variables([np.ones((2, 3), np.float32)], "ref")
        with pytest.raises(ValueError, match="ApplyGradientDescent"):
            get_op("ApplyGradientDescent")(variables.handles[0], 0.1, constant(np.ones((3,), np.float32)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_that_would_broadcast_is_an_error_and_changes_nothing(kind: str) -> None:
    with Graph().as_default():
        variables = Variables([np.ones((2, 3), np.float32)], kind)
        grad = placeholder("float32")
        name = "ApplyGradientDescent" if kind == "ref" else "ResourceApplyGradientDescent"
        update = get_op(name)(variables.handles[0], constant(0.1), grad)
        with pytest.raises(
            errors.InvalidArgumentError, match=r"var and delta do not have the same shape: \[2, 3\] \[3\]"
        ):
            variables.session.run(update, {grad: np.ones(3, np.float32)})
        np.testing.assert_array_equal(variables.values()[0], np.ones((2, 3)))


@pytest.mark.parametrize("index", [-1, 4])
def test_an_index_out_of_range_is_an_error_and_changes_nothing(index: int) -> None:
    with Graph().as_default():
        variables = Variables([np.ones((4, 2), np.float32), np.ones((4, 2), np.float32)], "ref")
        update = get_op("SparseApplyAdagrad")(
            *variables.handles, constant(0.1), constant(np.ones((2, 2), np.float32)), constant([0, index])
        )
        with pytest.raises(errors.InvalidArgumentError, match=rf"indices\[1\] = {index} is not in \[0, 4\)"):
            variables.session.run(update)
        np.testing.assert_array_equal(variables.values(), np.ones((2, 4, 2)))


def test_no_indices_change_nothing() -> None:
    with Graph().as_default():
        variables = Variables([np.ones((4, 2), np.float32), np.ones((4, 2), np.float32)], "ref")
        update = get_op("SparseApplyAdagrad")(
            *variables.handles,
            constant(0.1),
            constant(np.ones((0, 2), np.float32)),
            constant(np.zeros(0, np.int32)),
        )
        variables.session.run(update)
        np.testing.assert_array_equal(variables.values(), np.ones((2, 4, 2)))


def test_an_update_of_an_uninitialised_variable_names_it() -> None:
    with Graph().as_default():
        ref = get_op("VariableV2")(shape=[2], dtype="float32", name="weights")
        update = get_op("ApplyGradientDescent")(ref, constant(0.1), constant([1.0, 1.0]))
        with Session() as session, pytest.raises(errors.FailedPreconditionError, match="weights"):
            session.run(update)


def test_locked_updates_of_concurrent_steps_are_all_there() -> None:
    with Graph().as_default():
        variables = Variables([np.zeros(1000, np.float32)], "ref")
        update = get_op("ApplyGradientDescent")(
            variables.handles[0], constant(-1.0), constant(np.ones(1000, np.float32)), use_locking=True
        ).op
        threads = [
            threading.Thread(target=lambda: [variables.session.run(update) for _ in range(200)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(variables.values()[0], np.full(1000, 800.0))


def test_adam_gives_nan_and_not_an_exception_where_the_bias_is_total() -> None:
    with Graph().as_default():
        variables = Variables([np.ones(2, np.float32) for _ in range(3)], "ref")
        scalars = [constant(np.float32(s)) for s in (1.0, 1.0, 0.1, 0.9, 0.999, 1e-8)]
        variables.session.run(get_op("ApplyAdam")(*variables.handles, *scalars, constant([1.0, 2.0])))
        assert np.isnan(variables.values()[0]).all()
