"""A name that a namespace does not have says why, and what to write instead."""

from __future__ import annotations

import pytest

import penstock as tf
from penstock.absent import INSTEAD, NotInPenstockError, tensorflow_names


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("tf.tpu.rewrite", "one process"),
        ("tf.contrib.ffmpeg", "from_generator"),
        ("tf.contrib.learn.SVM", "hinge_loss"),
        ("tf.contrib.cudnn_rnn.CudnnRNNTanh", "dynamic_rnn"),
        ("tf.contrib.summary.create_db_writer", "create_file_writer"),
        ("tf.contrib.gan.eval.kernel_classifier_distance", "function of images"),
        ("tf.contrib.timeseries.StructuralEnsembleRegressor", "ARRegressor"),
        ("tf.io.RaggedFeature", "VarLenFeature"),
        ("tf.strings.unicode_script", "unicodedata"),
        ("tf.config.set_visible_devices", "ConfigProto"),
        ("tf.nn.ctc_loss_v2", "without its ending"),
        ("tf.contrib.eager.implicit_gradients", "tf.gradients"),
        ("tf.GradientTape", "tf.gradients"),
        ("tf.contrib.opt.GGTOptimizer", "tf.train.Optimizer"),
        ("tf.contrib.tpu.keras_to_tpu_model", "one process"),
    ],
)
def test_what_tensorflow_has_and_penstock_has_not_says_so_and_what_to_write(path: str, advice: str) -> None:
    with pytest.raises(NotInPenstockError, match=f"TensorFlow's {path} is not in Penstock yet.*{advice}"):
        resolve(path)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("tf.reduce_summ", "Did you mean tf.reduce_sum?"),
        ("tf.nn.relu7", "Did you mean tf.nn.relu"),
        ("tf.nn.matmul", "There is tf.matmul."),
        ("tf.xavier_initializer", "There is tf.contrib.layers.xavier_initializer."),
        ("tf.train.quux", "here or in TensorFlow 1.x.$"),
    ],
)
def test_what_never_was_names_the_nearest_name_that_is(path: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint.replace("?", r"\?")) as caught:
        resolve(path)
    assert not isinstance(caught.value, NotInPenstockError)


def test_a_missing_name_is_missing_for_hasattr_and_getattr_with_a_default() -> None:
    assert not hasattr(tf.contrib, "ffmpeg")
    assert getattr(tf, "GradientTape", None) is None
    with pytest.raises(ImportError):
        exec("from penstock import GradientTape")


@pytest.mark.parametrize("namespace", sorted(tensorflow_names()))
def test_every_namespace_of_tensorflow_that_is_here_tells_what_it_lacks(namespace: str) -> None:
    module = resolve(namespace)
    with pytest.raises(AttributeError, match=f"{namespace} has no 'no_such_name', here or in TensorFlow 1.x"):
        getattr(module, "no_such_name")  # noqa: B009
    for name in tensorflow_names()[namespace]:
        if not hasattr(module, name):
            with pytest.raises(NotInPenstockError, match="is not in Penstock yet"):
                getattr(module, name)


def test_advice_names_only_what_is_there() -> None:
    for _, advice in INSTEAD:
        for word in advice.replace("(", " ").replace(",", " ").replace(";", " ").replace(":", " ").split():
            if word.startswith("tf."):
                resolve(word.rstrip(".)"))


def resolve(path: str) -> object:
    found: object = tf
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found
