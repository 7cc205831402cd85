"""Every recorded sample of every op gives here what TensorFlow gave: `make conformance` records them anew."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

import penstock
from conformance.compare import difference
from conformance.known import KNOWN
from conformance.run import RECORD, read_record, reason_for
from conformance.runner import run_sample
from penstock.graph.opdef import registered_ops

RECORDED: dict[str, list[Any]] = defaultdict(list)
for _sample, _result in read_record(RECORD):
    RECORDED[_sample["op"]].append((_sample, _result))


@pytest.mark.parametrize("op", sorted(RECORDED))
def test_an_op_gives_what_tensorflow_gave_on_all_its_samples(op: str) -> None:
    unexplained = []
    for sample, theirs in RECORDED[op]:
        found = difference(sample, run_sample(penstock, sample), theirs)
        if found and not reason_for(op, found):
            unexplained.append(f"{sample['what']}: {found}")
    assert not unexplained, "\n".join(unexplained[:5])


def test_documented_differences_are_of_ops_that_exist() -> None:
    assert set(KNOWN) <= set(registered_ops())
