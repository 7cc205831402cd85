"""Device names: parsing, printing, merging and matching."""

from __future__ import annotations

import copy
import re
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.graph.device_spec import DeviceSpec, canonical_name, merge_device


def parts(spec: DeviceSpec) -> tuple[Any, ...]:
    return spec.job, spec.replica, spec.task, spec.device_type, spec.device_index


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/job:worker/replica:0/task:17/device:GPU:3", ("worker", 0, 17, "GPU", 3)),
        ("/job:ps_1/task:01", ("ps_1", None, 1, None, None)),
        ("/device:gpu:0/job:x", ("x", None, None, "GPU", 0)),
        ("/cpu:0", (None, None, None, "CPU", 0)),
        ("/gpu:*", (None, None, None, "GPU", None)),
        ("/GPU", (None, None, None, "GPU", None)),
        ("cpu:0", (None, None, None, "CPU", 0)),
        ("device:cpu:0", (None, None, None, "CPU", 0)),
        ("/device:cpu:*", (None, None, None, "CPU", None)),
        ("/device:XLA_GPU:0", (None, None, None, "XLA_GPU", 0)),
        ("/device:*:2", (None, None, None, "*", 2)),
        ("/replica:*/task:*", (None, None, None, None, None)),
        ("/job:a/job:b", ("b", None, None, None, None)),
        ("/job:a/", ("a", None, None, None, None)),
        ("", (None,) * 5),
        ("/", (None,) * 5),
        (None, (None,) * 5),
    ],
)
def test_names_are_parsed(name: str | None, expected: tuple[Any, ...]) -> None:
    assert parts(DeviceSpec.from_string(name)) == expected
    spec = DeviceSpec(job="other", device_index=9)
    assert spec.parse_from_string(name) is spec
    assert parts(spec) == expected


@pytest.mark.parametrize(
    "name",
    [
        "junk",
        "/foo:0",
        "/Job:a",
        "/job:",
        "/job:a b",
        "/job:a:b",
        "/task:x",
        "/task:-1",
        "/replica:",
        "/device",
        "/device:cpu",
        "/device:",
        "/device::0",
        "/device:GPU:x",
        "/device:GPU:-1",
        "/device:GPU:0:1",
        "/cpu:x",
        "/cpu:0:1",
        "/cpu:0/gpu:0",
        "/device:GPU:0/device:GPU:1",
    ],
)
def test_malformed_names_are_refused_and_named(name: str) -> None:
    for parse in (DeviceSpec.from_string, DeviceSpec().parse_from_string, canonical_name, merge_device):
        with pytest.raises(ValueError, match=f"the device name {re.escape(repr(name))}"):
            parse(name)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (DeviceSpec("w", 1, 2, "gpu", 3), "/job:w/replica:1/task:2/device:GPU:3"),
        (DeviceSpec(device_type="cpu"), "/device:CPU:*"),
        (DeviceSpec(device_type="Foo", device_index=0), "/device:Foo:0"),
        (DeviceSpec(task=0), "/task:0"),
        (DeviceSpec(task="3"), "/task:3"),  # type: ignore[arg-type]
        (DeviceSpec(device_index=3), ""),
        (DeviceSpec(), ""),
    ],
    ids=repr,
)
def test_specs_are_printed_in_full_spelling(spec: DeviceSpec, name: str) -> None:
    assert spec.to_string() == name
    if spec.device_type is not None:
        assert DeviceSpec.from_string(name) == spec


def test_parts_can_be_set_and_are_normalised() -> None:
    spec = DeviceSpec(job="a")
    spec.device_type, spec.device_index, spec.task = "gpu", "2", "1"  # type: ignore[assignment]
    assert parts(spec) == ("a", None, 1, "GPU", 2)
    with pytest.raises(ValueError, match="'x'"):
        spec.task = "x"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("outer", "inner", "merged"),
    [
        ("/job:a/cpu:0", "/gpu:1", "/job:a/device:GPU:1"),
        ("/cpu:0", "/job:b/task:1", "/job:b/task:1/device:CPU:0"),
        ("/job:a/task:0", "/task:3", "/job:a/task:3"),
        ("/cpu:0", "/gpu:*", "/device:GPU:0"),
        ("/gpu:1", "/device:*:2", "/device:*:2"),
        ("/gpu:1", "", "/device:GPU:1"),
        ("", "/gpu:1", "/device:GPU:1"),
    ],
)
def test_the_inner_names_parts_win_a_merge(outer: str, inner: str, merged: str) -> None:
    spec, other = DeviceSpec.from_string(outer), DeviceSpec.from_string(inner)
    assert spec.make_merged_spec(other).to_string() == merged
    assert merge_device(outer)(SimpleNamespace(device=inner)).to_string() == merged
    assert merge_device(spec)(SimpleNamespace(device=inner)).to_string() == merged
    assert spec == DeviceSpec.from_string(outer)
    spec.merge_from(other)
    assert spec.to_string() == merged
    assert other == DeviceSpec.from_string(inner)


def test_a_device_function_keeps_the_spec_it_was_made_with() -> None:
    spec = DeviceSpec(job="a", device_index=1)
    function = merge_device(spec)
    spec.job = "b"
    assert parts(function(SimpleNamespace(device="/gpu"))) == ("a", None, None, "GPU", 1)
    assert parts(function(SimpleNamespace(device=None))) == ("a", None, None, None, 1)
    assert merge_device(None)(SimpleNamespace(device="/cpu:1")).to_string() == "/device:CPU:1"


def test_changing_a_parsed_spec_leaves_the_next_one_alone() -> None:
    DeviceSpec.from_string("/job:a/cpu:0").job = "b"
    assert DeviceSpec.from_string("/job:a/cpu:0").job == "a"


FULL_NAME = "/job:worker/replica:0/task:17/device:GPU:3"


@pytest.mark.parametrize("partial", ["", "/gpu", "/gpu:3", "/job:worker", "/task:17/gpu:*", "/device:*:3", "/job:*"])
def test_a_partial_name_admits_devices_that_agree(partial: str) -> None:
    spec = DeviceSpec.from_string(partial)
    assert spec.is_compatible_with(FULL_NAME)
    assert spec.matches(DeviceSpec.from_string(FULL_NAME))


@pytest.mark.parametrize("partial", ["/cpu", "/gpu:0", "/job:ps", "/job:worker/task:1", "/replica:1", "/device:*:2"])
def test_a_partial_name_turns_away_devices_that_differ(partial: str) -> None:
    assert not DeviceSpec.from_string(partial).matches(FULL_NAME)


def test_a_full_name_does_not_admit_a_partial_one() -> None:
    assert not DeviceSpec.from_string(FULL_NAME).is_compatible_with("/gpu:3")


def test_equal_specs_are_one_key_and_a_string_is_not_a_spec() -> None:
    assert DeviceSpec.from_string("/gpu:0") == DeviceSpec(device_type="GPU", device_index=0)
    assert len({DeviceSpec.from_string("/gpu:0"), DeviceSpec.from_string("/device:GPU:0")}) == 1
    assert DeviceSpec(job="a") != DeviceSpec(job="b")
    assert DeviceSpec(job="a") != "/job:a"
    assert copy.copy(DeviceSpec(job="a")) == DeviceSpec(job="a")


def test_replace_copies_with_changed_parts() -> None:
    spec = DeviceSpec(job="a", task=1)
    assert spec.replace(task=3, device_type="cpu").to_string() == "/job:a/task:3/device:CPU:*"
    assert spec.replace(job=None).to_string() == "/task:1"
    assert spec.to_string() == "/job:a/task:1"
    with pytest.raises(TypeError):
        spec.replace(tusk=1)


def test_canonical_names_have_one_spelling() -> None:
    assert canonical_name(None) == ""
    assert canonical_name("/cpu:0") == "/device:CPU:0"
    assert canonical_name("/gpu:1/job:a") == "/job:a/device:GPU:1"
    assert canonical_name(DeviceSpec(job="x")) == "/job:x"


def test_a_spec_shows_its_parts() -> None:
    expected = "<DeviceSpec(job=y, replica=None, task=None, device_type=CPU, device_index=0)>"
    assert repr(DeviceSpec(job="y", device_type="cpu", device_index=0)) == expected
