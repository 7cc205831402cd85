"""What an exported model gives, as a model function says: predictions, a classification or a regression."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.saved_model import signature_constants
from penstock.saved_model.signature_def_utils import (
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
)
from penstock.tensor.dtypes import string

DEFAULT = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


@export("estimator.export.ExportOutput")
class ExportOutput(abc.ABC):
    """One signature of an exported model."""

    @abc.abstractmethod
    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> Any:
        """The SignatureDef that takes `receiver_tensors`."""


@export("estimator.export.ClassificationOutput")
class ClassificationOutput(ExportOutput):
    """Classes (strings), their scores (floats), or both; the model takes one tensor of serialised examples."""

    def __init__(self, scores: Tensor | None = None, classes: Tensor | None = None) -> None:
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype == string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores, self._classes = scores, classes

    @property
    def scores(self) -> Tensor | None:
        return self._scores

    @property
    def classes(self) -> Tensor | None:
        return self._classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> Any:
        examples = _only_input(receiver_tensors, "Classification")
        return classification_signature_def(examples, self.classes, self.scores)


@export("estimator.export.RegressionOutput")
class RegressionOutput(ExportOutput):
    """A value of floats; the model takes one tensor of serialised examples."""

    def __init__(self, value: Tensor) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self._value = value

    @property
    def value(self) -> Tensor:
        return self._value

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> Any:
        return regression_signature_def(_only_input(receiver_tensors, "Regression"), self.value)


@export("estimator.export.PredictOutput")
class PredictOutput(ExportOutput):
    """Any tensors by name; a single one is called "output"."""

    def __init__(self, outputs: Any) -> None:
        outputs = outputs if isinstance(outputs, dict) else {"output": outputs}
        for name, tensor in outputs.items():
            if not isinstance(name, str | tuple):
                raise ValueError(f"Prediction output key must be a string; got {name}")
            if not isinstance(tensor, Tensor):
                raise ValueError(f"Prediction output value must be a Tensor; got {tensor}")
        self._outputs: dict[str, Any] = {
            "/".join(name) if isinstance(name, tuple) else name: tensor for name, tensor in outputs.items()
        }

    @property
    def outputs(self) -> dict[str, Any]:
        return self._outputs

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> Any:
        return predict_signature_def(receiver_tensors, self.outputs)


def _only_input(receiver_tensors: Mapping[str, Tensor], what: str) -> Tensor:
    if len(receiver_tensors) != 1:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    ((_, examples),) = receiver_tensors.items()
    if not (isinstance(examples, Tensor) and examples.dtype == string):
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    return examples


def with_default_output(export_outputs: Any, predictions: Any) -> dict[str, ExportOutput]:
    """The outputs of a model, with one of them under the name of the default signature.

    Without any, they are its predictions. Raises TypeError for what is not a dict of outputs, ValueError if it is
    unclear which is the default.
    """
    if export_outputs is None:
        return {DEFAULT: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    if not all(isinstance(output, ExportOutput) for output in export_outputs.values()):
        raise TypeError(f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}")
    if len(export_outputs) == 1:
        (only,) = export_outputs.values()
        return {**export_outputs, DEFAULT: only}
    if export_outputs and DEFAULT not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default.  Do this by naming "
            "one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    return dict(export_outputs)
