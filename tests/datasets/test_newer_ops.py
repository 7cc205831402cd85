"""Datasets of graphs that TensorFlow 2 has written (2.21 wrote this one, and these are the elements that it gave).

d = range(20).map(x * 3, num_parallel_calls=2).cache().shuffle(5, seed=3).map(x + 1, AUTOTUNE).batch(4)
e = ShuffleAndRepeatDatasetV2(range(6), buffer_size=4, seed=7, count=2)
"""

from __future__ import annotations

from pathlib import Path

import penstock as tf

GRAPH = Path(__file__).parents[1] / "data" / "tensorflow2_datasets.pb"


def test_data_sets_that_tensorflow_2_wrote_have_its_elements_in_its_order() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.import_graph_def(
            tf.GraphDef.FromString(GRAPH.read_bytes()), return_elements=["Identity:0", "Identity_1:0"]
        )
        first, second = session.run(found)
    assert first.tolist() == [13, 4, 1, 7, 22, 25, 31, 19, 28, 37, 16, 10, 46, 40, 52, 49, 43, 34, 55, 58]
    assert second.tolist() == [3, 4, 5, 0, 1, 2, 3, 4, 1, 5, 2, 0]
