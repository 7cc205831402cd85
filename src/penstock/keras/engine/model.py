"""`Model`: a network that is trained (TF: tf.keras.Model)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras.engine import training
from penstock.keras.engine.array_source import Arrays, Repeated, part
from penstock.keras.engine.compiled import Compiled
from penstock.keras.engine.elements import Elements, is_elements
from penstock.keras.engine.generated import Generated, is_generator
from penstock.keras.nested import one_or_list


@export("keras.Model", "keras.models.Model")
class Model(Compiled):
    """Layers between `inputs` and `outputs`, or a subclass with a `call`, with `compile`, `fit`, `evaluate`, `predict`.

    Each kind of step (train, test, predict) is planned once, at its first batch, and run in `K.get_session()`.
    """

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
        validation_freq: Any = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Train on arrays (lists or dicts of them for several inputs), a dataset, or a generator.

        Returns the `History`. steps_per_epoch: of arrays each step takes all, as in TensorFlow. validation_split: the
        last part of the arrays is not trained on but evaluated. class_weight: factors of losses by class number.
        Batches of generators are made ahead by threads, with `use_multiprocessing` too.
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
                if isinstance(validation, Elements):
                    validation.begins_anew = True
            else:
                parts = (*validation_data, None)[:3]
                shuffles = "validation" if not isinstance(source, Generated) else False
                validation = self._source(parts[0], parts[1], batch_size, validation_steps, shuffles, parts[2])
        elif validation_split and 0.0 < validation_split < 1.0:
            if not isinstance(source, Arrays):
                raise ValueError("`validation_split` is only supported when the data are arrays.")
            source, validation = _split(source, validation_split, batch_size, shuffle)
        by_steps = source.samples is None
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
        validation_freq: Any = 1,
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
            initial_epoch, steps_per_epoch, validation_steps, validation_freq, max_queue_size, workers,
        )  # fmt: skip

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        **kwargs: Any,
    ) -> Any:
        """The loss, or with metrics a list of it and them (`metrics_names`), over all samples."""
        source = self._source(x, y, batch_size, steps, False, sample_weight, **_queueing(kwargs))
        try:
            return one_or_list(
                training.evaluate(self, source, verbose, training.told_by(self, callbacks, source, verbose))
            )
        finally:
            source.close()

    def evaluate_generator(
        self, generator: Any, steps: int | None = None, callbacks: Any = None, max_queue_size: int = 10,
        workers: int = 1, use_multiprocessing: bool = False, verbose: int = 0,
    ) -> Any:  # fmt: skip
        """`evaluate` on batches of a generator."""
        queueing = {"max_queue_size": max_queue_size, "workers": workers}
        return self.evaluate(generator, steps=steps, verbose=verbose, callbacks=callbacks, **queueing)

    def predict(
        self, x: Any, batch_size: int | None = None, verbose: int = 0, steps: int | None = None, callbacks: Any = None,
        **kwargs: Any,
    ) -> Any:  # fmt: skip
        """The outputs for all samples, as arrays."""
        source = self._source(x, None, batch_size, steps, False, targets=False, **_queueing(kwargs))
        try:
            return training.predict(self, source, verbose, training.told_by(self, callbacks, source, verbose))
        finally:
            source.close()

    def predict_generator(
        self, generator: Any, steps: int | None = None, callbacks: Any = None, max_queue_size: int = 10,
        workers: int = 1, use_multiprocessing: bool = False, verbose: int = 0,
    ) -> Any:  # fmt: skip
        """`predict` on batches of a generator."""
        queueing = {"max_queue_size": max_queue_size, "workers": workers}
        return self.predict(generator, None, verbose, steps, callbacks, **queueing)

    def train_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, reset_metrics: bool = True
    ) -> Any:
        """One step of training; returns the loss, or a list of it and the metrics, which with reset_metrics=False are
        of the steps before as well, and of those to come."""
        batch = self._batch(x, y, sample_weight, class_weight)
        return self._of_batch("train", batch, reset_metrics)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True) -> Any:
        """The loss and metrics of one batch, as `train_on_batch` returns them."""
        batch = self._batch(x, y, sample_weight)
        return self._of_batch("test", batch, reset_metrics)

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch."""
        return one_or_list(self.step_function("predict")(self._batch(x, targets=False)))


def _queueing(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments for generators, by the names that sources know them by."""
    found = {"ahead": kwargs.pop("max_queue_size", 10), "workers": kwargs.pop("workers", 1)}
    kwargs.pop("use_multiprocessing", None)
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    return found


def _split(source: Arrays, fraction: float, batch_size: int | None, shuffle: Any) -> tuple[Arrays, Arrays]:
    """The first samples to train on, and the last `fraction` of them to evaluate on."""
    everything = source._all
    at = int(everything.size * (1.0 - fraction))
    first, last = part(everything, slice(0, at), at), part(everything, slice(at, None), everything.size - at)
    trained = (
        Repeated(first, source.steps) if isinstance(source, Repeated) else Arrays(first, batch_size, None, shuffle)
    )
    return trained, Arrays(last, batch_size, None, "validation")
