"""What estimators keep of tensors: dtypes and shapes, and what is made from them."""

from __future__ import annotations

import penstock as tf
from penstock.contrib import learn

signatures = learn.estimators.tensor_signature


def test_tensors_are_compared_but_for_their_first_dimension() -> None:
    of_two = signatures.create_signatures({"a": tf.zeros([2, 3]), "b": tf.placeholder(tf.int32)})
    assert of_two["a"] == (tf.float32, tf.TensorShape([2, 3]), False)
    assert signatures.tensors_compatible(
        {"a": tf.zeros([5, 3]), "b": tf.zeros([1], tf.int32), "c": tf.zeros([])}, of_two
    )
    assert not signatures.tensors_compatible({"a": tf.zeros([5, 3])}, of_two)
    assert not signatures.tensors_compatible({"a": tf.zeros([2, 4]), "b": tf.zeros([1], tf.int32)}, of_two)
    assert not signatures.tensors_compatible(tf.zeros([2, 3]), of_two)
    sparse = tf.SparseTensor([[0, 0]], [1.0], [2, 3])
    assert signatures.tensors_compatible(sparse, signatures.create_signatures(sparse))
    assert not signatures.tensors_compatible(tf.zeros([2, 3]), signatures.TensorSignature(sparse))
    assert signatures.create_signatures(None) is None
    assert signatures.tensors_compatible(None, None)


def test_placeholders_and_parsers_are_made_from_signatures() -> None:
    kept = signatures.create_signatures({"a": tf.zeros([2, 3], tf.float64), "n": tf.zeros([2], tf.int32)})
    made = signatures.create_placeholders_from_signatures(kept)
    assert made["a"].shape.as_list() == [None, 3]
    assert made["a"].dtype == tf.float64
    features = {
        "a": tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2, 3])),
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[7])),
    }
    record = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    parsed = signatures.create_example_parser_from_signatures(kept, tf.constant([record]))
    one = signatures.create_example_parser_from_signatures(kept["n"], tf.constant([record]), "n")
    assert (parsed["a"].dtype, parsed["n"].dtype) == (tf.float64, tf.int32)
    with tf.Session() as session:
        assert session.run(parsed["a"]).tolist() == [[1, 2, 3]]
        assert session.run([parsed["n"], one]) == [[7], [7]]
