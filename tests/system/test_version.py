"""Which TensorFlow Penstock says it is: programs compare versions, and graphs name the one that made them."""

from __future__ import annotations

import re

import penstock as tf


def test_programs_that_compare_versions_find_tensorflow_1_15() -> None:
    assert re.fullmatch(r"1\.15\.\d+", tf.__version__)
    assert tf.__version__ == tf.VERSION == tf.version.VERSION
    assert [int(part) for part in tf.__version__.split(".")] >= [1, 4, 0]
    assert tf.compat.v1.__version__ == tf.__version__


def test_graphs_name_the_version_that_the_module_names() -> None:
    assert tf.GRAPH_DEF_VERSION == tf.version.GRAPH_DEF_VERSION == 134  # TensorFlow 1.15's
    assert tf.GRAPH_DEF_VERSION_MIN_CONSUMER == tf.GRAPH_DEF_VERSION_MIN_PRODUCER == 0
    found = tf.Graph().as_graph_def().versions
    assert (found.producer, found.min_consumer) == (tf.GRAPH_DEF_VERSION, tf.GRAPH_DEF_VERSION_MIN_CONSUMER)


def test_what_tensorflow_was_built_with_is_there_with_the_types_it_had() -> None:
    assert tf.__git_version__ == tf.GIT_VERSION == tf.version.GIT_VERSION
    assert tf.__compiler_version__ == tf.COMPILER_VERSION == tf.version.COMPILER_VERSION
    assert tf.CXX11_ABI_FLAG == tf.sysconfig.CXX11_ABI_FLAG == tf.__cxx11_abi_flag__ == 0
    assert tf.MONOLITHIC_BUILD == tf.sysconfig.MONOLITHIC_BUILD == tf.__monolithic_build__ == 0


def test_penstocks_own_version_is_in_tf_version() -> None:
    assert tf.version.PENSTOCK_VERSION in tf.GIT_VERSION
    assert tf.__version__ != tf.version.PENSTOCK_VERSION
