"""How `fit`, `evaluate` and `predict` present themselves: what they print and what callbacks are given."""

from __future__ import annotations

from typing import Any

from penstock.keras.utils.progress_bar import Progbar


class Bar:
    """The progress of `evaluate` or `predict`; `shows`: what has a value beside it."""

    def __init__(self, source: Any, verbose: int, shows: list[str], unit: str) -> None:
        target = source.steps if source.by_steps else source.samples
        self._shows, self._seen = shows, 0
        self._bar = Progbar(target, verbose=verbose, stateful_metrics=shows, unit_name=unit) if verbose else None

    def update(self, seen: int, names: Any = (), values: Any = ()) -> None:
        """`seen` steps or samples are done. The last line waits for what they come to."""
        self._seen = seen
        if self._bar is not None and (self._bar.target is None or seen < self._bar.target):
            self._bar.update(seen, self._shown(names, values))

    def end(self, names: Any = (), values: Any = ()) -> None:
        """There is no more."""
        if self._bar is not None:
            self._bar.target = self._seen
            self._bar.update(self._seen, self._shown(names, values))

    def _shown(self, names: Any, values: Any) -> list[Any]:
        return [(name, value) for name, value in zip(names, values, strict=True) if name in self._shows]


class Manner:
    """That of tf.keras of TensorFlow 1.15."""

    metrics_first = True
    """Whether logs of epochs begin with what was trained to, and not with what validation gives."""

    def alone(self, names: list[str], stateful: list[str]) -> list[str]:
        """What is logged of a batch for the pass so far."""
        return names[1:]

    def params(self, source: Any, names: list[str], validated: bool, epochs: int, verbose: int) -> dict[str, Any]:
        """What `fit` tells callbacks of itself."""
        return {
            "batch_size": source.batch_size,
            "epochs": epochs,
            "steps": source.steps,
            "samples": source.steps if source.by_steps else source.samples,
            "verbose": verbose,
            "do_validation": validated,
            "metrics": [*names, *(f"val_{name}" for name in names)] if validated else list(names),
        }

    def announce(self, source: Any, validation: Any) -> None:
        """Print what `fit` is about to do, but for generators."""
        if source.generated:
            return
        count = source.steps if source.by_steps else source.samples
        also = f", validate on {validation.told} {source.units}" if validation is not None and validation.told else ""
        print(f"Train on {count} {source.units}{also}")

    def has_header(self, epochs: int) -> bool:
        """Whether epochs are numbered in what is printed."""
        return epochs > 1

    def unit(self, by_steps: bool) -> str:
        return "step" if by_steps else "sample"

    def bar(self, source: Any, verbose: int, names: list[str]) -> Bar:
        return Bar(source, verbose, names, self.unit(source.by_steps))


of_now = Manner()
"""That of the process: another one where Keras is a package of its own."""
