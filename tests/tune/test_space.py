"""Search spaces as the unit cube."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from penstock.tune.space import Dimension, Domain, Space, domains

MIXED: dict[str, BaseDistribution] = {
    "rate": FloatDistribution(1e-5, 1e-1, log=True),
    "drop": FloatDistribution(-1.0, 3.0),
    "grid": FloatDistribution(0.0, 1.0, step=0.25),
    "layers": IntDistribution(1, 4),
    "units": IntDistribution(8, 512, log=True),
    "even": IntDistribution(2, 10, step=2),
    "kind": CategoricalDistribution(["a", None, 3]),
}
PARAMS = {"rate": 1e-3, "drop": 0.0, "grid": 0.5, "layers": 4, "units": 64, "even": 6, "kind": None}


def test_values_have_the_places_that_their_scales_say() -> None:
    point = dict(zip(MIXED, Space(MIXED).encode(PARAMS), strict=True))
    assert point["rate"] == pytest.approx(0.5)
    assert point["drop"] == pytest.approx(0.25)
    assert point["grid"] == pytest.approx(0.5)  # the third of five equal parts
    assert point["layers"] == pytest.approx(7 / 8)
    assert point["units"] == pytest.approx(math.log(64 / 7.5) / math.log(512.5 / 7.5))
    assert point["even"] == pytest.approx(0.5)
    assert point["kind"] == pytest.approx(0.5)


@given(st.sampled_from(sorted(MIXED)), st.floats(0, 1))
def test_any_place_is_a_value_of_the_distribution_which_has_that_place_again(name: str, unit: float) -> None:
    dimension = Dimension(MIXED[name])
    value = dimension.decode(unit)
    assert MIXED[name]._contains(MIXED[name].to_internal_repr(value))
    place = dimension.encode(value)
    again = dimension.decode(place)
    assert again == (pytest.approx(value) if isinstance(value, float) else value)
    if dimension.lattice is not None:
        assert float((dimension.lattice - place).abs().min()) < 1e-12
    else:
        assert place == pytest.approx(unit, abs=1e-9)


@pytest.mark.parametrize("name", ["layers", "even", "grid", "kind"])
def test_all_values_of_a_linear_discrete_scale_have_equal_parts_of_the_cube(name: str) -> None:
    dimension = Dimension(MIXED[name])
    units = np.linspace(0, 1, 1201)[:-1] + 1 / 2400
    _, counts = np.unique([str(dimension.decode(unit)) for unit in units], return_counts=True)
    assert set(counts) == {1200 // dimension.count}


def test_kernels_see_two_choices_at_the_distance_of_the_ends_of_a_scale() -> None:
    space = Space({"x": FloatDistribution(0, 1), "kind": CategoricalDistribution("abc")})
    assert space.groups.tolist() == [0, 1, 1, 1]
    points = torch.from_numpy(np.stack([space.encode({"x": 0.2, "kind": kind}) for kind in "abca"]))
    distances = torch.cdist(space.features(points), space.features(points))
    np.testing.assert_allclose(distances, [[0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 0, 1], [0, 1, 1, 0]], atol=1e-12)


def test_kernels_see_all_trials_without_a_parameter_at_the_same_place() -> None:
    space = Space({"x": FloatDistribution(0, 1), "kind": CategoricalDistribution("ab"), "y": FloatDistribution(0, 1)})
    points = torch.from_numpy(np.stack([space.encode({"x": 0.2}), space.encode({"x": 0.2})])).requires_grad_()
    seen = space.features(points)
    assert torch.equal(seen[0], seen[1])
    assert seen.isfinite().all()
    (slope,) = torch.autograd.grad(seen.sum(), points)
    assert slope.tolist() == [[1, 0, 0]] * 2


def test_what_is_inactive_is_not_decoded() -> None:
    space = Space(MIXED)
    some = {"drop": 0.5, "kind": "a"}
    assert space.decode(space.encode(some).tolist()) == some


def rows(space: Space, params: list[dict[str, Any]]) -> np.ndarray:
    return np.stack([space.encode(each) for each in params])


def test_a_domain_rounds_to_its_values() -> None:
    space = Space({"x": FloatDistribution(0, 1), "n": IntDistribution(0, 3), "y": FloatDistribution(0, 1)})
    domain = Domain(space, np.array([True, True, False]), {1: {0.125}})
    found = domain.project(torch.tensor([[0.3, 0.05, 0.4], [1.7, 0.7, math.nan]], dtype=torch.float64))
    np.testing.assert_allclose(found, [[0.3, 0.375, np.nan], [1.0, 0.625, np.nan]])
    assert domain.free.tolist() == [True, False, False]
    assert domain.enumerated.tolist() == [False, True, False]


def test_a_parameter_that_decides_which_others_are_active_has_the_values_of_its_domain_only() -> None:
    space = Space(
        {
            "model": CategoricalDistribution(["svm", "forest", "mean"]),
            "c": FloatDistribution(0, 1),
            "depth": IntDistribution(1, 5),
            "scale": CategoricalDistribution([False, True]),
        }
    )
    trials = [
        {"model": "svm", "c": 0.3, "scale": True},
        {"model": "svm", "c": 0.5, "scale": False},
        {"model": "svm", "c": 0.6, "scale": False},
        {"model": "forest", "depth": 2, "scale": True},
        {"model": "forest", "depth": 3, "scale": False},
    ]
    svm, forest = domains(space, rows(space, trials))
    assert svm.active.tolist() == [True, True, False, True]
    assert forest.active.tolist() == [True, False, True, True]
    values = [[space.dimensions[0].decode(value) for value in found.values[0].tolist()] for found in (svm, forest)]
    assert values == [["svm", "mean"], ["forest", "mean"]]  # nobody knows yet what "mean" asks for
    assert [len(found.values[3]) for found in (svm, forest)] == [2, 2]  # scaling decides nothing


def test_without_conditions_there_is_one_domain_of_all_values() -> None:
    space = Space(MIXED)
    (domain,) = domains(space, rows(space, [PARAMS, PARAMS]))
    assert domain.active.all()
    assert [len(values) for values in domain.values if values is not None] == [5, 4, 505, 5, 3]
