"""TensorFlow's module for a program's own ops; Penstock's are made with `define_op` (TF: tf.user_ops)."""

from __future__ import annotations

import numpy as np

from penstock import absent as _absent
from penstock.graph import shape_rules
from penstock.graph.opdef import Bound, define_op
from penstock.graph.operation import Tensor
from penstock.runtime.kernels import KernelContext

FACT = define_op("Fact", "", "fact: string")
FACT.shape(shape_rules.scalar)
FACT.not_differentiable()


@FACT.kernel("CPU")
def fact_kernel(ctx: KernelContext) -> Bound:
    return Bound(np.array(b"0! == 1", object))


def my_fact() -> Tensor:
    """The example of an op without inputs (TF: tf.user_ops.my_fact)."""
    return FACT()


_absent.tell_in(__name__)
