"""`model_to_estimator`: an Estimator that trains a Keras model (TF: tf.keras.estimator)."""

from __future__ import annotations

from typing import Any

from penstock.estimator.estimator import Estimator
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph import Graph
from penstock.keras import backend as K, optimizers
from penstock.keras.engine import files
from penstock.keras.engine.input_layer import Input
from penstock.keras.engine.model import Model
from penstock.keras.engine.topology import layer_from
from penstock.keras.models.loading import load_model
from penstock.keras.nested import flat
from penstock.keras.optimizers.base import TFOptimizer
from penstock.metrics.means import mean
from penstock.ops.array import expand_dims
from penstock.ops.basic import group
from penstock.ops.cast import cast
from penstock.ops.state import assign_add
from penstock.train.global_step import get_or_create_global_step
from penstock.training_loop.scaffold import Scaffold


@export("keras.estimator.model_to_estimator")
def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: Any = None,
    config: Any = None,
) -> Estimator:
    """An Estimator whose model is a compiled Keras model, or the one in a file.

    Each graph of the Estimator has its own copy, which begins with the model's weights unless there is a checkpoint.
    Features are a tensor, a list of them, or a dict by the names of the model's inputs; labels likewise for outputs.
    Raises ValueError if the model is not compiled, or neither or both of model and path are given.
    """
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError("Please specify either `keras_model` or `keras_model_path`, but not both.")
    if keras_model is None:
        with Graph().as_default():
            keras_model = load_model(keras_model_path, custom_objects)
            return _estimator(keras_model, custom_objects, model_dir, config)
    return _estimator(keras_model, custom_objects, model_dir, config)


def _estimator(model: Any, custom_objects: Any, model_dir: Any, config: Any) -> Estimator:
    if model.optimizer is None:
        raise ValueError("The given keras model has not been compiled yet. Please compile the model first.")
    described_model = {"class_name": files.description_of(model)["class_name"], "config": model.get_config()}
    start = model.get_weights()
    optimizer = model.optimizer
    settings = optimizer.optimizer if isinstance(optimizer, TFOptimizer) else optimizers.serialize(optimizer)
    arguments = {
        "loss": model.loss,
        "metrics": model.metrics,
        "loss_weights": model.loss_weights,
        "sample_weight_mode": model.sample_weight_mode,
    }

    def model_fn(features: Any, labels: Any, mode: Any) -> EstimatorSpec:
        K.set_learning_phase(int(mode == ModeKeys.TRAIN))
        copy = layer_from(described_model, custom_objects)
        inputs = [Input(tensor=x) for x in _tensors(features, copy.input_names, K.floatx())]
        whole = Model(inputs, copy(inputs if len(inputs) > 1 else inputs[0]))
        whole.output_names = list(copy.output_names)
        outputs = dict(zip(whole.output_names, whole.outputs, strict=True))
        scaffold = Scaffold(init_fn=lambda _, session: _assign(session, copy.weights, start))
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, outputs, scaffold=scaffold)
        targets = [_column(y) for y in _tensors(labels, whole.output_names, None)]
        whole.compile(settings, **arguments, target_tensors=targets)
        loss = whole.total_loss
        if mode == ModeKeys.EVAL:
            means = {
                name: mean(value)  # those that layers add are none of an Estimator's, as in TensorFlow
                for name, value in zip(whole._make_objective().names, whole._make_objective().values, strict=True)
                if name != "loss"
            }
            return EstimatorSpec(mode, outputs, loss, eval_metric_ops=means, scaffold=scaffold)
        return EstimatorSpec(mode, outputs, loss, _train_op(whole, loss), scaffold=scaffold)

    return Estimator(model_fn, model_dir, config)


def _train_op(model: Any, loss: Any) -> Any:
    step = get_or_create_global_step()
    updates = [*model.optimizer.get_updates(loss, model.trainable_weights), *model.updates]
    return group(*updates, assign_add(step, 1))


def _tensors(given: Any, names: list[str], dtype: Any) -> list[Any]:
    """The tensors for these names, of a dict, a list or the only one."""
    if isinstance(given, dict):
        missing = [name for name in names if name not in given]
        if missing:
            raise ValueError(f"The model's names are {names}, but the input function gives {sorted(given)}.")
        values = [given[name] for name in names]
    else:
        values = flat(given)
    if len(values) != len(names):
        raise ValueError(f"The model has {len(names)} of {names}, but the input function gives {len(values)} tensors.")
    tensors = [convert_to_tensor(value) for value in values]
    return [cast(x, dtype) if dtype is not None and x.dtype.name == "float64" else x for x in tensors]


def _column(labels: Any) -> Any:
    """Labels as Keras' losses take them: floats, vectors as columns."""
    labels = cast(labels, K.floatx())
    return expand_dims(labels, 1) if labels.shape.ndims == 1 else labels


def _assign(session: Any, weights: list[Any], values: list[Any]) -> None:
    """Give weights their first values; the nodes that do so belong to their initialisers, so graphs may be final."""
    for weight, value in zip(weights, values, strict=True):
        weight.load(value, session)
