"""`Compiled`: a network with an objective and an optimizer, whose steps are functions of batches."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.client.replicas import here
from penstock.errors import UnimplementedError
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, counted_as, name_scope
from penstock.keras import backend as K, optimizers
from penstock.keras.engine.array_source import Arrays, Repeated
from penstock.keras.engine.arrays import arrays_of, dense_rows
from penstock.keras.engine.batches import Batch, Source, check_sizes, whole
from penstock.keras.engine.elements import Elements, is_elements
from penstock.keras.engine.generated import Generated, is_generator
from penstock.keras.engine.input_layer import Input
from penstock.keras.engine.reports import Reports
from penstock.keras.engine.sample_weights import sample_weights_of
from penstock.keras.engine.tally import LAST, Part, Tally, of_a_batch, tensors_of
from penstock.keras.nested import flat, leaves, one_or_list, structure_of
from penstock.keras.optimizers.base import updates_of
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape


class Compiled(Reports):
    """What `Model` trains: steps of each kind are planned once, at their first batch."""

    stop_training = False
    _strategy: Any = None
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
        distribute: Any = None,
        **kwargs: Any,
    ) -> None:
        """Say how to train: an optimizer, and for each output a loss and metrics, by name or as functions.

        loss_weights: factors of the outputs' losses. sample_weight_mode: "temporal" for weights of each time step.
        weighted_metrics: metrics in which weights of samples count. target_tensors: tensors to take instead of feeding.
        distribute: a strategy (by default the one whose scope is open) that trains with other workers; for several
        devices of one process, make an Estimator of the model.
        """
        if kwargs.pop("run_eagerly", None):
            raise UnimplementedError(None, None, "Models run as graphs here: leave out run_eagerly=True.")
        kwargs.pop("experimental_run_tf_function", None)
        if here.replica is None:  # a replica's model is not distributed any more
            self._strategy = distribute or here.strategy
        if self._strategy is not None and len(self._strategy.worker_devices) > 1:
            raise UnimplementedError(
                None,
                None,
                f"A Keras model trains on one device of a process, not on {self._strategy.worker_devices}: use "
                "tf.keras.estimator.model_to_estimator with RunConfig(train_distribute=...).",
            )
        with counted_as(0):  # TensorFlow makes its variables with the first step
            self.optimizer = optimizers.get(optimizer)
        self.loss, self.metrics, self.loss_weights = loss, metrics or [], loss_weights
        self.sample_weight_mode = sample_weight_mode
        self._compiled = (weighted_metrics, target_tensors)
        self._run_options = kwargs
        self._objectives = {}
        self._functions: dict[Any, Any] = {}
        self._reported = self._so_far = None
        if self.outputs is not None:
            self._make_objective()

    # --- steps ------------------------------------------------------------------------------------------

    def step_function(self, mode: str) -> Any:
        """A function of a `Batch` that runs a step: "predict" returns outputs, "train" and "test" what `tensors_of`
        the `parts` are."""
        trained = self._trained(mode)
        training = np.array(mode == "train")

        def run(batch: Batch) -> list[Any]:
            function, feeds_phase = self._planned(mode, batch.weights is not None, trained)
            values: list[Any] = function([*batch.fed, training] if feeds_phase else batch.fed)
            return values

        return run

    def _of_batch(self, mode: str, batch: Batch, reset_metrics: bool) -> Any:
        """What a step of training or testing reports, as `train_on_batch` returns it: metrics are of the steps since
        they were reset last, which `fit` and `evaluate` do not do at their end, and this does unless told not to."""
        values = self.step_function(mode)(batch)
        parts = self._parts(batch.weights is not None)
        so_far = self._so_far if Tally.is_kept else None
        if so_far is not None and len(so_far) != len(parts):  # there are new ones
            so_far = None
        if so_far is None and Tally.is_kept and not reset_metrics:
            so_far = self.tally(by_steps=False)
        if so_far is None:
            shown = of_a_batch(parts, values, batch.rows)
        else:
            shown = so_far.add(values, batch, batch.size)
        if reset_metrics and Tally.is_kept:
            self.reset_metrics()
        return one_or_list(shown)

    def _trained(self, mode: str) -> tuple[int, ...]:
        """What a plan of training depends on besides its kind. Raises RuntimeError for a model that is not compiled."""
        if mode != "predict":
            self._compiled_objective()
        return tuple(map(id, self.trainable_weights)) if mode == "train" else ()

    def _planned(self, mode: str, weighted: bool, trained: tuple[int, ...]) -> tuple[Any, bool]:
        functions = self.__dict__.setdefault("_functions", {})
        key = mode, weighted, trained, () if mode == "predict" else tuple(map(id, self._reports()[1]))
        if key not in functions:
            functions[key] = self._function(mode, weighted)
        found: tuple[Any, bool] = functions[key]
        return found

    def _make_predict_function(self) -> None:
        """Plan steps of this kind now: programs do so before threads run them."""
        self._planned("predict", False, self._trained("predict"))

    def _make_test_function(self) -> None:
        self._planned("test", False, self._trained("test"))

    def _make_train_function(self) -> None:
        self._planned("train", False, self._trained("train"))

    @property
    def predict_function(self) -> Any:
        """A function of a list of arrays for all inputs, and maybe the learning phase, that returns all outputs."""
        return self._of_lists("predict", False)

    @property
    def test_function(self) -> Any:
        """A function of a list of inputs, targets, weights of samples, maybe the learning phase: losses and metrics."""
        return self._of_lists("test", True)

    @property
    def train_function(self) -> Any:
        """A function of the same list as `test_function`'s that trains."""
        return self._of_lists("train", True)

    def _of_lists(self, mode: str, weighted: bool) -> Any:
        function, feeds_phase = self._planned(mode, weighted, self._trained(mode))
        count = len(function.inputs) - feeds_phase

        def run(values: list[Any]) -> list[Any]:
            phase = [*values[count:], np.array(mode == "train")][:1] if feeds_phase else []
            found: list[Any] = function([*values[:count], *phase])
            if mode == "predict":
                return found
            rows = len(values[len(self._fed_inputs)]) if self._compiled_objective().fed_targets else 1
            return of_a_batch(self._parts(weighted), found, rows)

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
                updates += self._updates_of_weights(made.values[0], weights) if weights else []
            updates += self.updates
        else:
            updates += self.state_updates
        parts = made.parts
        if made.updates:
            with control_dependencies(made.updates):
                objects = iter(made.resets)
                parts = [Part(LAST, next(objects).result()) if part.kind == LAST else part for part in parts]
        parts = [*parts, *self._added_parts()]
        return K.function(feeds, tensors_of(parts), updates, **self._run_options), bool(phases)

    def _updates_of_weights(self, loss: Any, weights: list[Any]) -> list[Any]:
        if self._strategy is None:
            return updates_of(self.optimizer, loss, weights)
        with self._strategy.mean_of_losses():
            return flat(self._strategy.call_for_each_replica(self.optimizer.get_updates, (loss, weights)))

    def function_of(self, tensors: list[Any], with_targets: bool = True) -> Callable[[list[Any]], list[Any]]:
        """A function of arrays for the inputs, and for the targets, that computes `tensors` as in evaluation.

        It may be given more arrays: weights of samples do not count.
        """
        phase = K.learning_phase()
        feeds = [*self._fed_inputs, *(self._compiled_objective().fed_targets if with_targets else [])]
        phases = {phase: False} if isinstance(phase, Tensor) else {}
        function = K.function([*feeds, *phases], tensors)

        def run(arrays: list[Any]) -> list[Any]:
            values: list[Any] = function([*arrays[: len(feeds)], *phases.values()])
            return values

        return run

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
        inputs = [x if K.is_sparse(fed[i][1]) else dense_rows(x) for i, x in enumerate(inputs)]
        if not targets:
            return check_sizes(Batch(inputs, [], None, inputs[0].shape[0] if inputs else 0))
        made = self._compiled_objective()
        arrays = arrays_of(y, made.target_names, made.target_shapes, "target", made.of_classes)
        labels = [dense_rows(label) for label in arrays]
        weights = sample_weights_of(sample_weight, class_weight, labels, made.target_names)
        size = inputs[0].shape[0] if inputs else len(labels[0]) if labels else 0
        return check_sizes(Batch(inputs, labels, weights, size))

    def _set_inputs(self, x: Any) -> None:
        """Build a model whose inputs are not known yet, for inputs like `x`."""
        values = [v if isinstance(v, Tensor) else np.asarray(v) for v in leaves(x)]
        shapes = [TensorShape(value.shape).as_list()[1:] for value in values]
        if hasattr(self, "_added") and not isinstance(x, dict):
            self.build((None, *shapes[0]))
        else:
            kinds = [as_dtype(value.dtype) for value in values]
            names = sorted(x) if isinstance(x, dict) else [None] * len(values)
            inputs = [
                Input(shape or (1,), dtype=K.floatx() if kind.is_floating else kind, name=name)
                for shape, kind, name in zip(shapes, kinds, names, strict=True)
            ]
            self._begin(structure_of(x)(inputs), inputs, [name or f"input_{i + 1}" for i, name in enumerate(names)])
        if self.optimizer is not None:
            self._make_objective()

    def _begin(self, given: Any, inputs: list[Any], names: list[str]) -> None:
        """Call the model's own `call` with `given`, made of `inputs`."""
        outputs = flat(self(given))
        self.inputs, self.outputs = inputs, outputs
        self._own_calls = [self._inbound_nodes[-1]]
        self.input_names = names
        self.output_names = [f"output_{i + 1}" for i in range(len(outputs))]

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
            elements = Elements(x, steps, prepared)
            if self.inputs is None:
                self._set_inputs(elements.example[0] if isinstance(elements.example, tuple) else elements.example)
            return elements
        if is_generator(x):
            if self.inputs is None:
                first = x[0] if hasattr(x, "__getitem__") else next(x)
                self._set_inputs(first[0] if isinstance(first, tuple) else first)
                x = x if hasattr(x, "__getitem__") else itertools.chain([first], x)
            return Generated(x, steps, prepared, ahead, workers, bool(shuffle))
        batch = self._batch(x, y, sample_weight, class_weight, targets)
        if steps is not None:
            return Repeated(batch, whole(steps))
        if not batch.inputs and not batch.targets:
            raise ValueError("If the model's inputs are tensors, you should specify the steps of an epoch.")
        return Arrays(batch, batch_size, None, shuffle)
