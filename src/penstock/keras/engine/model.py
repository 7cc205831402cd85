"""`Model`: a network that is trained (TF: tf.keras.Model)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.keras import backend as K, optimizers
from penstock.keras.engine import training
from penstock.keras.engine.batches import (
    Arrays,
    Batch,
    Elements,
    Generated,
    Source,
    arrays_of,
    check_sizes,
    is_elements,
    is_generator,
    sample_weights_of,
    take,
)
from penstock.keras.engine.input_layer import Input
from penstock.keras.engine.network import Network
from penstock.keras.engine.objective import Objective, objective
from penstock.keras.nested import flat, one_or_list


@export("keras.Model", "keras.models.Model")
class Model(Network):
    """Layers between `inputs` and `outputs`, or a subclass with a `call`, with `compile`, `fit`, `evaluate`, `predict`.

    Each kind of step (train, test, predict) is planned once, at its first batch, and run in `K.get_session()`.
    """

    optimizer: Any = None
    loss: Any = None
    metrics: Any = None
    loss_weights: Any = None
    sample_weight_mode: Any = None
    stop_training = False
    history: Any = None

    def compile(
        self,
        optimizer: Any,
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        sample_weight_mode: Any = None,
        weighted_metrics: Any = None,
        target_tensors: Any = None,
        **kwargs: Any,
    ) -> None:
        """Say how to train: an optimizer, and for each output a loss and metrics, by name or as functions.

        loss_weights: factors of the outputs' losses. sample_weight_mode: "temporal" for weights of each time step.
        weighted_metrics: metrics in which weights of samples count. target_tensors: tensors to take instead of feeding.
        """
        self.optimizer = optimizers.get(optimizer)
        self.loss, self.metrics, self.loss_weights = loss, metrics or [], loss_weights
        self.sample_weight_mode = sample_weight_mode
        self._compiled = (weighted_metrics, target_tensors)
        self._run_options = kwargs
        self._objectives: dict[bool, Objective] = {}
        self._functions: dict[Any, Any] = {}
        if self.outputs is not None:
            self._make_objective()

    def _make_objective(self, weighted: bool = False) -> Objective:
        if weighted not in self._objectives:
            weighted_metrics, targets = self._compiled
            plain = self._make_objective() if weighted else None
            self._objectives[weighted] = objective(
                self, self.loss, self.metrics, weighted_metrics, self.loss_weights, targets, plain
            )
        return self._objectives[weighted]

    def _compiled_objective(self, weighted: bool = False) -> Objective:
        if self.optimizer is None:
            raise RuntimeError("You must compile your model before using it.")
        return self._make_objective(weighted)

    @property
    def metrics_names(self) -> list[str]:
        """The names of what `evaluate` returns."""
        return list(self._compiled_objective().names)

    @property
    def stateful_metric_names(self) -> list[str]:
        return list(self._compiled_objective().stateful)

    @property
    def total_loss(self) -> Any:
        """What training minimises."""
        return self._compiled_objective().values[0]

    @property
    def targets(self) -> list[Any]:
        return list(self._compiled_objective().targets)

    @property
    def sample_weights(self) -> list[Any]:
        return list(self._compiled_objective(weighted=True).weights)

    def reset_metrics(self) -> None:
        """Begin anew with metrics that are kept over steps."""
        for metric in self._compiled_objective().resets:
            metric.reset_states()

    # --- steps ------------------------------------------------------------------------------------------

    def step_function(self, mode: str) -> Any:
        """A function of a `Batch` that runs a step: "train" and "test" return losses and metrics, "predict" outputs."""
        if mode != "predict":
            self._compiled_objective()
        functions = self.__dict__.setdefault("_functions", {})
        trained = tuple(map(id, self.trainable_weights)) if mode == "train" else ()
        training = np.array(mode == "train")

        def run(batch: Batch) -> list[Any]:
            key = mode, batch.weights is not None, trained
            if key not in functions:
                functions[key] = self._function(mode, batch.weights is not None)
            function, feeds_phase = functions[key]
            values: list[Any] = function([*batch.fed, training] if feeds_phase else batch.fed)
            return values

        return run

    def _function(self, mode: str, weighted: bool) -> tuple[Any, bool]:
        """The function of a kind of step, and whether it takes the learning phase after the batch's values."""
        phase = K.learning_phase()
        phases = [phase] if isinstance(phase, Tensor) and phase.consumers() else []
        if mode == "predict":
            return K.function([*self._fed_inputs, *phases], self.outputs, self.state_updates), bool(phases)
        made = self._compiled_objective(weighted)
        feeds = [*self._fed_inputs, *made.fed_targets, *made.weights, *phases]
        updates = list(made.updates)
        if mode == "train":
            weights = self.trainable_weights
            with name_scope("training"), name_scope(type(self.optimizer).__name__):
                updates += self.optimizer.get_updates(made.values[0], weights) if weights else []
            updates += self.updates
        else:
            updates += self.state_updates
        values = made.values
        if made.updates:
            values = [*values]
            with control_dependencies(made.updates):
                for i, name in enumerate(made.names):
                    if name in made.stateful:
                        values[i] = made.resets[made.stateful.index(name)].result()
        return K.function(feeds, values, updates, **self._run_options), bool(phases)

    @property
    def _fed_inputs(self) -> list[Any]:
        return [x for x in self.inputs if K.is_placeholder(x)]

    @property
    def state_updates(self) -> list[Any]:
        """The updates of layers that keep state: these run in all steps."""
        updates = self.updates
        found = []
        for layer in self.sublayers():
            if getattr(layer, "stateful", False):
                inside = {id(update) for update in layer._updates} if hasattr(layer, "_updates") else set()
                found += [update for update in updates if id(update) in inside]
        return found

    def _batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, targets: bool = True
    ) -> Batch:
        """Arrays for what the model feeds. Raises ValueError if they do not fit."""
        if self.inputs is None:
            self._set_inputs(x)
        fed = [
            (name, tensor)
            for name, tensor in zip(self.input_names, self.inputs, strict=True)
            if K.is_placeholder(tensor)
        ]
        inputs = arrays_of(x, [name for name, _ in fed], [K.int_shape(tensor) for _, tensor in fed], "input")
        if not targets:
            return check_sizes(Batch(inputs, [], None, len(inputs[0]) if inputs else 0))
        made = self._compiled_objective()
        labels = arrays_of(y, made.target_names, made.target_shapes, "target")
        weights = sample_weights_of(sample_weight, class_weight, labels, made.target_names)
        size = len(inputs[0]) if inputs else len(labels[0]) if labels else 0
        return check_sizes(Batch(inputs, labels, weights, size))

    def _set_inputs(self, x: Any) -> None:
        """Build a model whose inputs are not known yet, for inputs like `x`."""
        arrays = [np.asarray(value) for value in (x if isinstance(x, list | tuple) else [x])]
        if hasattr(self, "_added"):
            self.build((None, *arrays[0].shape[1:]))
        else:
            kinds = [a.dtype if a.dtype.kind == "i" else K.floatx() for a in arrays]
            inputs = [Input(a.shape[1:], dtype=kind) for a, kind in zip(arrays, kinds, strict=True)]
            outputs = flat(self(inputs if isinstance(x, list | tuple) else inputs[0]))
            self.inputs, self.outputs = inputs, outputs
            self._own_call = self._inbound_nodes[-1]
            self.input_names = [f"input_{i + 1}" for i in range(len(inputs))]
            self.output_names = [f"output_{i + 1}" for i in range(len(outputs))]
        if self.optimizer is not None:
            self._make_objective()

    def _source(
        self, x: Any, y: Any, batch_size: Any, steps: Any, shuffle: Any, sample_weight: Any = None,
        class_weight: Any = None, targets: bool = True, ahead: int = 10, workers: int = 1,
    ) -> Source:  # fmt: skip
        def prepared(element: Any) -> Batch:
            parts = element if isinstance(element, tuple) else (element,)
            if targets and len(parts) not in (2, 3) and self._compiled_objective().fed_targets:
                raise ValueError(
                    "Output of generator should be a tuple `(x, y, sample_weight)` or `(x, y)`. Found: " + str(element)
                )
            weights = parts[2] if len(parts) > 2 else None
            return self._batch(parts[0], parts[1] if len(parts) > 1 else None, weights, class_weight, targets)

        if is_elements(x):
            return Elements(x, steps, prepared)
        if is_generator(x):
            return Generated(x, steps, prepared, ahead, workers, bool(shuffle))
        batch = self._batch(x, y, sample_weight, class_weight, targets)
        if not batch.inputs and not batch.targets:
            if steps is None:
                raise ValueError("If the model's inputs are tensors, you should specify the steps of an epoch.")
            return Repeated(batch, steps)
        return Arrays(batch, batch_size, None, shuffle)

    # --- training ---------------------------------------------------------------------------------------

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: int = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Train on arrays (lists or dicts of them for several inputs), a dataset, or a generator.

        Returns the `History`. validation_split: the last part of the arrays is not trained on but evaluated.
        class_weight: factors of losses by class number. Batches of generators are made ahead by threads, with
        `use_multiprocessing` too.
        """
        epochs = kwargs.pop("nb_epoch", epochs)
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        if self.optimizer is None:
            raise RuntimeError("You must compile your model before using it.")
        source = self._source(
            x,
            y,
            batch_size,
            steps_per_epoch,
            shuffle,
            sample_weight,
            class_weight,
            ahead=max_queue_size,
            workers=workers,
        )
        validation = None
        if validation_data is not None:
            if is_elements(validation_data) or is_generator(validation_data):
                validation = self._source(validation_data, None, None, validation_steps, False)
            else:
                parts = (*validation_data, None)[:3]
                validation = self._source(parts[0], parts[1], batch_size, validation_steps, False, parts[2])
        elif validation_split and 0.0 < validation_split < 1.0:
            if not isinstance(source, Arrays):
                raise ValueError("`validation_split` is only supported when the data are arrays.")
            source, validation = _split(source, validation_split, batch_size, shuffle)
        by_steps = not isinstance(source, Arrays)
        return training.fit(
            self, source, epochs, verbose, callbacks, validation, initial_epoch, by_steps, validation_freq
        )

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_data: Any = None,
        validation_steps: int | None = None,
        class_weight: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        shuffle: bool = True,
        initial_epoch: int = 0,
    ) -> Any:
        """Train on batches of a generator or `Sequence`."""
        return self.fit(
            generator, None, None, epochs, verbose, callbacks, 0.0, validation_data, shuffle, class_weight, None,
            initial_epoch, steps_per_epoch, validation_steps, 1, max_queue_size, workers,
        )  # fmt: skip

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: Any = None,
        steps: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """The loss, or with metrics a list of it and them (`metrics_names`), over all samples."""
        source = self._source(x, y, batch_size, steps, False, sample_weight, **_queueing(kwargs))
        try:
            return one_or_list(training.evaluate(self, source, verbose))
        finally:
            source.close()

    def evaluate_generator(
        self, generator: Any, steps: int | None = None, max_queue_size: int = 10, workers: int = 1,
        use_multiprocessing: bool = False, verbose: int = 0,
    ) -> Any:  # fmt: skip
        """`evaluate` on batches of a generator."""
        return self.evaluate(generator, steps=steps, verbose=verbose, max_queue_size=max_queue_size, workers=workers)

    def predict(
        self, x: Any, batch_size: int | None = None, verbose: int = 0, steps: int | None = None, **kwargs: Any
    ) -> Any:
        """The outputs for all samples, as arrays."""
        source = self._source(x, None, batch_size, steps, False, targets=False, **_queueing(kwargs))
        try:
            return training.predict(self, source, verbose)
        finally:
            source.close()

    def predict_generator(
        self, generator: Any, steps: int | None = None, max_queue_size: int = 10, workers: int = 1,
        use_multiprocessing: bool = False, verbose: int = 0,
    ) -> Any:  # fmt: skip
        """`predict` on batches of a generator."""
        return self.predict(generator, None, verbose, steps, max_queue_size=max_queue_size, workers=workers)

    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None) -> Any:
        """One step of training; returns the loss, or a list of it and the metrics."""
        batch = self._batch(x, y, sample_weight, class_weight)
        return one_or_list(self.step_function("train")(batch))

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """The loss and metrics of one batch."""
        batch = self._batch(x, y, sample_weight)
        return one_or_list(self.step_function("test")(batch))

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch."""
        return one_or_list(self.step_function("predict")(self._batch(x, targets=False)))


class Repeated(Source):
    """Steps that feed nothing: the model's inputs and targets are tensors."""

    def __init__(self, batch: Batch, steps: int) -> None:
        self._batch, self.steps = batch, steps

    def epoch(self) -> Iterator[Batch]:
        return itertools.repeat(Batch([], [], None, 1), self.steps or 0)


def _queueing(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments for generators, by the names that sources know them by."""
    found = {"ahead": kwargs.pop("max_queue_size", 10), "workers": kwargs.pop("workers", 1)}
    kwargs.pop("use_multiprocessing", None)
    kwargs.pop("callbacks", None)
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    return found


def _split(source: Arrays, fraction: float, batch_size: int | None, shuffle: Any) -> tuple[Arrays, Arrays]:
    """The first samples to train on, and the last `fraction` of them to evaluate on."""
    everything = source._all
    at = int(everything.size * (1.0 - fraction))
    first, last = take(everything, slice(0, at), at), take(everything, slice(at, None), everything.size - at)
    return Arrays(first, batch_size, None, shuffle), Arrays(last, batch_size, None, False)
