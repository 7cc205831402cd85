"""Ensembles of trees and streams of quantiles as state. Expected results are those of TensorFlow 1.15."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op
from penstock.ops.boosted_trees.ensemble import POST_PRUNING, PRE_PRUNING
from penstock.ops.boosted_trees.messages import TreeEnsemble
from penstock.ops.boosted_trees.quantiles import Stream, block_size

FEATURES = [np.int32([0, 1, 2, 2, 0, 1]), np.int32([1, 1, 0, 0, 1, 0])]
FRESH = np.zeros(6, np.int32), np.full(6, -1, np.int32)


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-6, atol=1e-7)


class Ensemble:
    """The ops of one ensemble, run at once."""

    def __init__(self, session: tf.Session) -> None:
        self.session = session
        self.handle = get_op("BoostedTreesEnsembleResourceHandleOp")(shared_name="e")

    def run(self, name: str, *inputs: Any, **attrs: Any) -> Any:
        return self.session.run(get_op(name)(self.handle, *inputs, **attrs))

    def states(self) -> list[list[int]]:
        return [np.ravel(each).tolist() for each in self.run("BoostedTreesGetEnsembleStates")]

    def serialized(self) -> bytes:
        return np.asarray(self.run("BoostedTreesSerializeEnsemble")[1], object).item()

    def predict(self) -> Any:
        return self.run("BoostedTreesPredict", FEATURES, logits_dimension=1)

    def training_predict(self, trees: Any, nodes: Any) -> Any:
        return self.run("BoostedTreesTrainingPredict", trees, nodes, FEATURES, logits_dimension=1)

    def update(self, *columns: Any, pruning: int, depth: int = 2) -> None:
        """columns: of each feature nodes, gains, thresholds, and what is left and right."""
        types = (np.int32, np.float32, np.int32, np.float32, np.float32)
        lists = [[np.array(each, kind) for each in column] for column, kind in zip(columns, types, strict=True)]
        lists[3:] = [[each[:, None] for each in column] for column in lists[3:]]
        ids = np.arange(len(columns[0]), dtype=np.int32)
        self.run("BoostedTreesUpdateEnsemble", ids, *lists, np.int32(depth), np.float32(0.1), pruning_mode=pruning)

    def grown(self) -> Ensemble:
        """With a bias and a tree of two layers, of which a split was pruned."""
        self.run("BoostedTreesCreateEnsemble", np.int64(3), "")
        for mean in (-0.5, -0.5, -0.005):
            self.run("BoostedTreesCenterBias", np.float32([[mean]]), np.float32([[0.25]]), 0.0, 0.1)
        self.update([[0], [0]], [[0.5], [0.5]], [[1], [0]], [[1], [2]], [[-1], [-3]], pruning=POST_PRUNING)
        self.update(
            [[1, 2], [2]], [[-0.2, 0.3], [0.7]], [[0, 1], [0]], [[1, 4], [5]], [[2, -1], [-7]], pruning=POST_PRUNING
        )
        return self


GROWN = (
    b"\nM\n\x17\x12\x06\x10\x01\x18\x01 \x02\xca0\x0c\r\x00\x00\x00?\x12\x05\x1d}\xc57@\n\x07\n\x05\x1d\xe3+>@\n\x17"
    b"\x12\x06\x08\x01\x18\x03 \x04\xca0\x0c\r333?\x12\x05\x1d\x17_1@\n\x07\n\x05\x1d\x17_Q@\n\x07\n\x05\x1dJ\x92\x04@"
    b'\n\x04\n\x02\n\x00\x12\x08\x00\x00\x80?\x00\x00\x80?\x1aH\x10\x02\x18\x01"\x06\x12\x04\x00\x00\x00\x00"\x08\x08'
    b'\x01\x12\x04\x00\x00\x00\x00"\x08\x08\x02\x12\x04\x00\x00\x00\x00"\x08\x08\x01\x12\x04\xc0\xcc\xcc\xbd"\x08\x08'
    b'\x01\x12\x04\xd0\xccL\xbe"\x08\x08\x03\x12\x04\x00\x00\x00\x00"\x08\x08\x04\x12\x04\x00\x00\x00\x00\x1a\x00"'
    b"\x06\x08\x01\x10\x02 \x01"
)


def test_an_ensemble_is_created_once_and_is_empty(session: tf.Session) -> None:
    ensemble = Ensemble(session)
    assert not ensemble.run("IsBoostedTreesEnsembleInitialized")
    with pytest.raises(tf.errors.FailedPreconditionError, match="Tree ensemble e is not initialized"):
        ensemble.states()
    ensemble.run("BoostedTreesCreateEnsemble", np.int64(3), "")
    ensemble.run("BoostedTreesCreateEnsemble", np.int64(5), "")
    assert ensemble.run("IsBoostedTreesEnsembleInitialized")
    assert ensemble.states() == [[3], [0], [0], [0], [0, 1]]
    assert ensemble.predict().tolist() == [[0]] * 6
    partial, trees, nodes = ensemble.training_predict(*FRESH)
    assert (partial.tolist(), trees.tolist(), nodes.tolist()) == ([[0]] * 6, [0] * 6, [0] * 6)


def test_a_bias_is_centered_until_it_changes_little(session: tf.Session) -> None:
    ensemble = Ensemble(session)
    ensemble.run("BoostedTreesCreateEnsemble", np.int64(3), "")
    means = [np.float32([[mean]]) for mean in (-0.5, -0.5, -0.005)]
    found = [ensemble.run("BoostedTreesCenterBias", m, np.float32([[0.25]]), 0.0, 0.1) for m in means]
    assert [bool(each) for each in found] == [True, True, False]
    assert ensemble.states() == [[6], [1], [0], [0], [0, 1]]
    near(ensemble.predict(), [1.005 / 0.35] * 6)


def test_layers_are_grown_by_the_best_splits_and_a_finished_tree_is_pruned(session: tf.Session) -> None:
    ensemble = Ensemble(session).grown()
    assert ensemble.states() == [[8], [2], [1], [2], [0, 1]]
    assert ensemble.serialized() == GROWN
    near(ensemble.predict(), [2.9714286, 2.9714286, 3.2714288, 3.2714288, 2.9714286, 2.9714286])


def test_predictions_go_on_from_where_an_example_was_before_pruning(session: tf.Session) -> None:
    ensemble = Ensemble(session).grown()
    partial, trees, nodes = ensemble.training_predict(np.zeros(6, np.int32), np.int32([1, 1, 2, 2, 1, 1]))
    near(partial, [0, 0, 0.5, 0.5, 0, 0])
    assert (trees.tolist(), nodes.tolist()) == ([1] * 6, [0] * 6)
    partial, _, _ = ensemble.training_predict(np.zeros(6, np.int32), np.int32([3, 4, 2, 1, 0, -1]))
    near(partial, [-0.099999905, -0.20000005, 0.5, 0, 0.099999905, 2.9714286])


def test_the_path_of_an_example_names_features_and_logits(session: tf.Session) -> None:
    found = Ensemble(session).grown().run("BoostedTreesExampleDebugOutputs", FEATURES, logits_dimension=1)
    left, right = b"\n\x01\x00\x12\x08}\xc57@\xe3+>@", b"\n\x02\x00\x01\x12\x0c}\xc57@\x17_1@\x17_Q@"
    assert found.tolist() == [left, left, right, right, left, left]


def test_an_attempt_without_good_splits_is_counted_only(session: tf.Session) -> None:
    ensemble = Ensemble(session).grown()
    ensemble.update([[], []], [[], []], [[], []], [[], []], [[], []], pruning=0)
    assert ensemble.states() == [[9], [2], [1], [3], [0, 1]]
    ensemble.update([[0], [0]], [[-0.5], [-0.6]], [[1], [0]], [[1], [2]], [[-1], [-3]], pruning=PRE_PRUNING)
    assert ensemble.states() == [[10], [2], [1], [4], [0, 1]]
    ensemble.update([[0]], [[0.0]], [[1]], [[1]], [[-1]], pruning=PRE_PRUNING, depth=1)  # gains nothing, loses nothing
    assert ensemble.states() == [[11], [3], [2], [5], [0, 1]]


def test_an_ensemble_is_restored_from_bytes(session: tf.Session) -> None:
    ensemble = Ensemble(session)
    ensemble.run("BoostedTreesCreateEnsemble", np.int64(0), "")
    ensemble.run("BoostedTreesDeserializeEnsemble", np.int64(9), GROWN)
    assert ensemble.states() == [[9], [2], [1], [2], [0, 1]] and ensemble.serialized() == GROWN
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to parse tree ensemble proto"):
        ensemble.run("BoostedTreesDeserializeEnsemble", np.int64(9), b"\xff")


# --- quantiles ------------------------------------------------------------------------------------------


class Streams:
    """Two streams of rounded numbers, added in three batches."""

    def __init__(self, session: tf.Session) -> None:
        self.session = session
        self.handle = get_op("BoostedTreesQuantileStreamResourceHandleOp")(shared_name="q")
        random = np.random.RandomState(3)
        self.numbers = [np.round(random.randn(500) * 10).astype(np.float32) for _ in range(2)]
        self.weights = random.rand(500).astype(np.float32)

    def run(self, name: str, *inputs: Any, **attrs: Any) -> Any:
        return self.session.run(get_op(name)(self.handle, *inputs, **attrs))

    def add(self) -> None:
        for first in range(3):
            batch = [numbers[first::3] for numbers in self.numbers]
            made = get_op("BoostedTreesMakeQuantileSummaries")(batch, self.weights[first::3], 0.01)
            self.run("BoostedTreesQuantileStreamResourceAddSummaries", made)

    def boundaries(self) -> list[list[float]]:
        name = "BoostedTreesQuantileStreamResourceGetBucketBoundaries"
        return [each.tolist() for each in self.run(name, num_features=2)]


def test_boundaries_are_made_of_all_batches(session: tf.Session) -> None:
    streams = Streams(session)
    assert not streams.run("IsBoostedTreesQuantileStreamResourceInitialized")
    with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized"):
        streams.boundaries()
    streams.run("BoostedTreesCreateQuantileStreamResource", 0.01, np.int64(2))
    assert streams.run("IsBoostedTreesQuantileStreamResourceInitialized")
    assert streams.boundaries() == [[], []]
    streams.add()
    streams.run("BoostedTreesQuantileStreamResourceFlush", np.int64(8))
    expected = [-30, -19, -12, -7, -3, 0, 5, 10, 18, 28], [-30, -17, -11, -7, -2, 2, 6, 10, 23, 37]
    assert streams.boundaries() == [*map(list, expected)]
    streams.add()
    streams.run("BoostedTreesQuantileStreamResourceFlush", np.int64(5), generate_quantiles=True)
    assert streams.boundaries() == [[-30, -6, 0, 8, 28], [-30, -7, 1, 8, 37]]
    streams.run("BoostedTreesQuantileStreamResourceDeserialize", [np.float32([1, 2]), np.float32([])])
    assert streams.boundaries() == [[1, 2], []]


def test_summaries_of_a_stream_can_be_taken_out(session: tf.Session) -> None:
    streams = Streams(session)
    streams.run("BoostedTreesCreateQuantileStreamResource", 0.01, np.int64(2))
    streams.add()
    first, second = streams.run("BoostedTreesFlushQuantileSummaries", num_features=2)
    assert (first.shape, second.shape) == ((53, 4), (51, 4))
    np.testing.assert_allclose(first.sum(0), [-9, 242.1766, 6261.282, 6503.459], rtol=1e-6)
    np.testing.assert_allclose(second.sum(0), [65, 242.17656, 6190.8447, 6433.0215], rtol=1e-6)


def test_ranks_in_a_long_stream_are_known_up_to_the_error() -> None:
    random = np.random.RandomState(0)
    numbers, weights = random.randn(20000).astype(np.float32), random.rand(20000).astype(np.float32)
    stream = Stream(0.02, len(numbers))
    stream.push(numbers, weights)
    found = stream.summary()
    assert len(found.value) < 1000 < len(numbers) and found.error() <= 0.02
    order = np.argsort(numbers)
    ranks = np.cumsum(weights[order], dtype=np.float64)[np.searchsorted(numbers[order], found.value)]
    assert (ranks >= found.low - 0.1).all() and (ranks <= found.high + 0.1).all()
    assert block_size(0.01, 2) == 2 and block_size(0.01, 1 << 20) == 1001  # 2**11 * 1001 > 2**20 > 2**10 * 901


@pytest.mark.parametrize(
    ("feature", "left", "right"), [(0, 1, 0), (0, 0, 2), (0, 2, 3), (-1, 1, 2)], ids=["loop", "root", "beyond", "none"]
)
def test_a_damaged_tree_is_refused_and_not_walked(session: tf.Session, feature: int, left: int, right: int) -> None:
    message = TreeEnsemble(tree_weights=[1.0])
    message.tree_metadata.add()
    nodes = message.trees.add().nodes
    split = nodes.add().bucketized_split
    split.feature_id, split.threshold, split.left_id, split.right_id = feature, 1, left, right
    for _ in range(2):
        nodes.add().leaf.scalar = 1.0
    ensemble = Ensemble(session)
    ensemble.run("BoostedTreesCreateEnsemble", np.int64(0), message.SerializeToString())
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Node 0 of a tree is split by feature {feature} to"):
        ensemble.predict()


def test_a_feature_that_is_not_given_is_an_error(session: tf.Session) -> None:
    message = TreeEnsemble(tree_weights=[1.0])
    message.tree_metadata.add()
    nodes = message.trees.add().nodes
    split = nodes.add().bucketized_split
    split.feature_id, split.left_id, split.right_id = 7, 1, 2
    for _ in range(2):
        nodes.add().leaf.scalar = 1.0
    ensemble = Ensemble(session)
    ensemble.run("BoostedTreesCreateEnsemble", np.int64(0), message.SerializeToString())
    with pytest.raises(tf.errors.InvalidArgumentError):
        ensemble.predict()
