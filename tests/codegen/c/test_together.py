"""Functions of every kind in one object: a batch is whatever steps have asked for meanwhile."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import penstock as tf
from penstock.analysis.hazards import find_hazards
from penstock.analysis.structure import execution_order, structured
from penstock.codegen.c.object_cache import function_of
from penstock.codegen.c.source import Source, file_of, groups
from penstock.codegen.c.toolchain import Toolchain, find_toolchain
from penstock.codegen.regions.region_source import region_source
from penstock.codegen.regions.writer import write_step
from penstock.codegen.tuned.lrn import lrn_source
from penstock.codegen.tuned.pooling import pooling_source
from penstock.codegen.tuned.winograd_source import winograd_source
from penstock.passes.infer_shapes import infer_shapes
from penstock.passes.prune import prune
from penstock.tensor.dtypes import bfloat16, float32
from tests.codegen.c.test_compiler import _source


def test_functions_of_all_kinds_can_be_asked_for_at_once_in_any_order(tmp_path: Path) -> None:
    found = find_toolchain()
    quick = Toolchain((*found.command, "-O0"), found.identity)
    own = [make(dtype) for make in (winograd_source, pooling_source) for dtype in (float32, bfloat16)]
    sources = [*own, lrn_source(), _source(), _region(tf.float32), _region(tf.float64)]
    for name, order in (("forward", sources), ("backward", sources[::-1])):
        for i, group in enumerate(groups(order)):
            target = tmp_path / f"{name}{i}.so"
            quick.compile(file_of(group), target)
            assert all(function_of(target, source.name) for source in group)


def _region(dtype: tf.DType) -> Source:
    """A region with what regions bring along: products, reductions, a softmax, a convolution, a scan and a pool."""
    with tf.Graph().as_default():
        x = tf.placeholder(dtype, [8, 8])
        h = tf.nn.softmax(tf.matmul(x, tf.constant(np.eye(8), dtype)))
        image = tf.reshape(h, [1, 8, 8, 1])
        image = tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "SAME") if dtype == tf.float32 else image
        fetch = tf.reduce_sum(image) + tf.reduce_max(tf.cumsum(h))
        graph = infer_shapes(prune([x], [fetch], []), {})
    statements, _ = structured(graph)
    order = list(execution_order(statements))
    return region_source(write_step(graph, statements, find_hazards(graph, order)))
