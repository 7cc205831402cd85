"""Metrics that are means or sums of what functions say of each sample (TF: tf.keras.metrics.Hinge, MeanIoU, ...)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras.losses import functions as losses
from penstock.keras.metrics import functions
from penstock.keras.metrics.classes import Mean, MeanOf, Metric, weighted
from penstock.metrics.base import fitted
from penstock.ops.arithmetic import squared_difference
from penstock.ops.array import reshape
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.confusion_matrix import confusion_matrix
from penstock.ops.diagonal import diag_part
from penstock.ops.division import div_no_nan
from penstock.ops.reduce import reduce_sum
from penstock.ops.unary import sqrt


@export("keras.metrics.Sum")
class Sum(Metric):
    """The sum of values, each times its weight."""

    def __init__(self, name: str | None = "sum", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values, _ = weighted(values, sample_weight, self.dtype)
        return [self.total.assign_add(reduce_sum(values)).op]

    def result(self) -> Any:
        return identity(self.total.read_value())


@export("keras.metrics.MeanTensor")
class MeanTensor(Metric):
    """The mean of each element over the steps, of tensors of one shape."""

    def __init__(self, name: str | None = "mean_tensor", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total: Any = None
        self.count: Any = None

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values, weights = weighted(values, sample_weight, self.dtype)
        if self.total is None:
            shape = tuple(values.shape.as_list())
            self.total, self.count = self.add_weight("total", shape), self.add_weight("count", shape)
        return [self.total.assign_add(values).op, self.count.assign_add(weights).op]

    def result(self) -> Any:
        if self.total is None:
            raise ValueError("MeanTensor does not have any result yet. Please call the MeanTensor instance first.")
        return div_no_nan(self.total.read_value(), self.count.read_value())


@export("keras.metrics.MeanIoU")
class MeanIoU(Metric):
    """Of numbers of classes: the share of each class that targets and predictions have in common, as a mean."""

    def __init__(self, num_classes: int, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight("total_confusion_matrix", (num_classes, num_classes), dtype="float64")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        weights = None if sample_weight is None else reshape(cast(sample_weight, "float64"), [-1])
        true, found = (reshape(cast(cast(y, self.dtype), "int64"), [-1]) for y in (y_true, y_pred))
        counts = confusion_matrix(true, found, self.num_classes, "float64", weights=weights)
        return [self.total_cm.assign_add(counts).op]

    def result(self) -> Any:
        counts = cast(self.total_cm.read_value(), self.dtype)
        both = diag_part(counts)
        either = reduce_sum(counts, 0) + reduce_sum(counts, 1) - both
        return div_no_nan(reduce_sum(div_no_nan(both, either)), reduce_sum(cast(either > 0, self.dtype)))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_classes": self.num_classes}


@export("keras.metrics.RootMeanSquaredError")
class RootMeanSquaredError(Mean):
    """The root of the mean squared error over all steps."""

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        y_pred, y_true, _ = fitted(y_pred, y_true, None, (self.dtype, self.dtype))
        return super().update_state(squared_difference(y_true, y_pred), sample_weight)

    def result(self) -> Any:
        return sqrt(super().result())


@export("keras.metrics.MeanRelativeError")
class MeanRelativeError(Mean):
    """The mean of |y_true - y_pred| / normalizer."""

    def __init__(self, normalizer: Any, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.normalizer = normalizer

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        y_pred, y_true, _ = fitted(y_pred, y_true, None, (self.dtype, self.dtype))
        errors = div_no_nan(abs(y_true - y_pred), cast(self.normalizer, self.dtype))
        return super().update_state(errors, sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "normalizer": self.normalizer}


# --- functions of targets and predictions ---------------------------------------------------------------


@export("keras.metrics.TopKCategoricalAccuracy")
class TopKCategoricalAccuracy(MeanOf):
    """How often the right class is among the k most probable."""

    function = staticmethod(functions.top_k_categorical_accuracy)

    def __init__(self, k: int = 5, name: str = "top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(name, dtype, k=k)


@export("keras.metrics.SparseTopKCategoricalAccuracy")
class SparseTopKCategoricalAccuracy(MeanOf):
    """How often the right class is among the k most probable, for targets that are numbers."""

    function = staticmethod(functions.sparse_top_k_categorical_accuracy)

    def __init__(self, k: int = 5, name: str = "sparse_top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(name, dtype, k=k)


@export("keras.metrics.MeanAbsolutePercentageError")
class MeanAbsolutePercentageError(MeanOf):
    """The mean absolute error in percent of the targets."""

    function = staticmethod(losses.mean_absolute_percentage_error)


@export("keras.metrics.MeanSquaredLogarithmicError")
class MeanSquaredLogarithmicError(MeanOf):
    """The mean squared error of logarithms."""

    function = staticmethod(losses.mean_squared_logarithmic_error)


@export("keras.metrics.CosineSimilarity")
class CosineSimilarity(MeanOf):
    """The cosine of the angle between targets and predictions."""

    function = staticmethod(lambda y_true, y_pred, axis: -losses.cosine_proximity(y_true, y_pred, axis))

    def __init__(self, name: str = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(name, dtype, axis=axis)


@export("keras.metrics.Hinge")
class Hinge(MeanOf):
    """The hinge loss."""

    function = staticmethod(losses.hinge)


@export("keras.metrics.SquaredHinge")
class SquaredHinge(MeanOf):
    """The squared hinge loss."""

    function = staticmethod(losses.squared_hinge)


@export("keras.metrics.CategoricalHinge")
class CategoricalHinge(MeanOf):
    """The hinge loss between classes."""

    function = staticmethod(losses.categorical_hinge)


@export("keras.metrics.LogCoshError")
class LogCoshError(MeanOf):
    """The logarithm of the hyperbolic cosine of the error."""

    function = staticmethod(losses.logcosh)

    def __init__(self, name: str = "logcosh", dtype: Any = None) -> None:
        super().__init__(name, dtype)


@export("keras.metrics.Poisson")
class Poisson(MeanOf):
    """The Poisson loss."""

    function = staticmethod(losses.poisson)


@export("keras.metrics.KLDivergence")
class KLDivergence(MeanOf):
    """The Kullback-Leibler divergence of the predictions from the targets."""

    function = staticmethod(losses.kullback_leibler_divergence)

    def __init__(self, name: str = "kullback_leibler_divergence", dtype: Any = None) -> None:
        super().__init__(name, dtype)


@export("keras.metrics.BinaryCrossentropy")
class BinaryCrossentropy(MeanOf):
    """The cross entropy of two classes."""

    function = staticmethod(losses.binary_crossentropy)

    def __init__(
        self,
        name: str = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing)


@export("keras.metrics.CategoricalCrossentropy")
class CategoricalCrossentropy(MeanOf):
    """The cross entropy of classes whose targets are one-hot."""

    function = staticmethod(losses.categorical_crossentropy)

    def __init__(
        self,
        name: str = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing)


@export("keras.metrics.SparseCategoricalCrossentropy")
class SparseCategoricalCrossentropy(MeanOf):
    """The cross entropy of classes whose targets are numbers."""

    function = staticmethod(losses.sparse_categorical_crossentropy)

    def __init__(
        self,
        name: str = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(name, dtype, from_logits=from_logits, axis=axis)
