"""How Keras 2.0 to 2.2 prepared data for its models: `_standardize_input_data`, `_make_batches`, weights of samples.

Programs that have their own `predict` or `fit` call these (`keras.engine.training`, `keras.engine.training_utils`).
Facts from Keras 2.2.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib.framework.checks import is_tensor
from penstock.keras import backend as K, losses
from penstock.keras.engine.sample_weights import weights_of_classes
from penstock.keras.utils.inner import to_list


def standardize_single_array(x: Any) -> Any:
    """An array of numbers as a column."""
    return x if x is None or is_tensor(x) or np.ndim(x) != 1 else np.expand_dims(x, 1)


def standardize_input_data(
    data: Any, names: Any, shapes: Any = None, check_batch_axis: bool = True, exception_prefix: str = ""
) -> list[Any]:
    """An array for each name, of a list, a dict or one array. Raises ValueError where number or shapes differ."""
    if not names:
        if data is not None and hasattr(data, "__len__") and len(data):
            raise ValueError(f"Error when checking model {exception_prefix}: expected no data, but got:", data)
        return []
    if data is None:
        return [None] * len(names)
    if isinstance(data, dict):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: {names}')
        data = [data[name] for name in names]
    elif not isinstance(data, list):
        data = [data]
    elif len(names) == 1 and isinstance(data[0], int | float):
        data = [np.asarray(data)]
    arrays = [standardize_single_array(_array(each)) for each in data]
    if len(arrays) != len(names):
        if hasattr(arrays[0], "shape") or len(names) > 1:
            raise ValueError(
                f"Error when checking model {exception_prefix}: the list of Numpy arrays that you are passing to your "
                f"model is not the size the model expected. Expected to see {len(names)} array(s), but instead got "
                f"the following list of {len(arrays)} arrays: {str(data)[:200]}..."
            )
        arrays = [np.asarray(data)]
    for array, name, shape in zip(arrays, names, shapes or [], strict=False):
        if shape is not None and not is_tensor(array):
            _check_shape(array, name, tuple(shape), check_batch_axis, exception_prefix)
    return arrays


def _array(x: Any) -> Any:
    if type(x).__name__ == "DataFrame":
        return x.values
    return np.asarray(x) if isinstance(x, list) else x


def _check_shape(array: Any, name: str, shape: tuple[Any, ...], with_batch: bool, prefix: str) -> None:
    if array.ndim != len(shape):
        raise ValueError(
            f"Error when checking {prefix}: expected {name} to have {len(shape)} dimensions, but got array with shape "
            f"{array.shape}"
        )
    skipped = 0 if with_batch else 1
    found, wanted = array.shape[skipped:], shape[skipped:]
    if any(size and size != have for have, size in zip(found, wanted, strict=True)):
        raise ValueError(
            f"Error when checking {prefix}: expected {name} to have shape {wanted} but got array with shape {found}"
        )


def standardize_sample_or_class_weights(x_weight: Any, output_names: Any, weight_type: str) -> list[Any]:
    """The weights of each output: None where there are none."""
    if x_weight is None or len(x_weight) == 0:
        return [None] * len(output_names)
    if len(output_names) == 1:
        if isinstance(x_weight, list) and len(x_weight) == 1:
            return x_weight
        named = isinstance(x_weight, dict) and output_names[0] in x_weight
        return [x_weight[output_names[0]] if named else x_weight]
    if isinstance(x_weight, dict):
        return [x_weight.get(name) for name in output_names]
    if not isinstance(x_weight, list):
        raise TypeError(
            f"The model has multiple outputs, so `{weight_type}` should be either a list or a dict. Provided "
            f"`{weight_type}` type not understood: {x_weight}"
        )
    if len(x_weight) != len(output_names):
        raise ValueError(
            f"Provided `{weight_type}` was a list of {len(x_weight)} elements, but the model has {len(output_names)} "
            f"outputs. You should provide one `{weight_type}` array per model output."
        )
    return x_weight


def standardize_class_weights(class_weight: Any, output_names: Any) -> list[Any]:
    return standardize_sample_or_class_weights(class_weight, output_names, "class_weight")


def standardize_sample_weights(sample_weight: Any, output_names: Any) -> list[Any]:
    return standardize_sample_or_class_weights(sample_weight, output_names, "sample_weight")


def standardize_weights(
    y: Any, sample_weight: Any = None, class_weight: Any = None, sample_weight_mode: str | None = None
) -> np.ndarray:
    """A weight for each sample, or with the mode "temporal" for each of its steps; 1 by default.

    Raises ValueError for weights of other shapes, and for classes without a weight.
    """
    if sample_weight_mode not in (None, "temporal"):
        raise ValueError(f'"sample_weight_mode should be None or "temporal". Found: {sample_weight_mode}')
    steps = sample_weight_mode == "temporal"
    if steps and y.ndim < 3:
        raise ValueError(f"Timestep-wise sample weights are for outputs that are at least 3D, not of shape {y.shape}")
    if sample_weight is not None:
        if class_weight is not None:
            warnings.warn(
                "Found both `sample_weight` and `class_weight`: `class_weight` argument will be ignored.", stacklevel=2
            )
        if sample_weight.ndim != (2 if steps else 1) or y.shape[: sample_weight.ndim] != sample_weight.shape:
            raise ValueError(f"Found a sample_weight array with shape {sample_weight.shape} for {y.shape}")
        return sample_weight
    if isinstance(class_weight, dict):
        return weights_of_classes(y, class_weight)
    return np.ones(y.shape[: 2 if steps else 1], K.floatx())


def check_array_length_consistency(inputs: Any, targets: Any, weights: Any = None) -> None:
    """Raises ValueError unless all arrays have as many rows."""
    lengths = {}
    for what, arrays in (
        ("input arrays (x)", inputs),
        ("target arrays (y)", targets),
        ("sample_weight arrays", weights),
    ):
        found = {0 if each is None else int(each.shape[0]) for each in arrays or [None]}
        if len(found) > 1:
            shapes = [each.shape for each in arrays]
            raise ValueError(f"All {what} should have the same number of samples. Got array shapes: {shapes}")
        lengths[what[:6]] = found.pop()
    x, y, w = lengths.values()
    if inputs and targets and x != y:
        raise ValueError(
            "Input arrays should have the same number of samples as target arrays. "
            f"Found {x} input samples and {y} target samples."
        )
    if targets and weights and w not in (0, y):
        raise ValueError(
            "Sample_weight arrays should have the same number of samples as target arrays. "
            f"Got {y} input samples and {w} target samples."
        )


def check_loss_and_target_compatibility(targets: Any, loss_fns: Any, output_shapes: Any) -> None:
    """Raises ValueError for targets of another shape than their output, where the loss compares them by element."""
    alike = losses.mean_squared_error, losses.binary_crossentropy, losses.categorical_crossentropy
    for y, loss, shape in zip(targets, loss_fns, output_shapes, strict=False):
        if y is None or loss not in alike:
            continue
        if loss is losses.categorical_crossentropy and y.shape[-1] == 1:
            raise ValueError(
                f"You are passing a target array of shape {y.shape} while using as loss `categorical_crossentropy`. "
                "`categorical_crossentropy` expects targets to be binary matrices (1s and 0s) of shape (samples, "
                "classes). `keras.utils.to_categorical` makes them of integers, and `sparse_categorical_crossentropy` "
                "expects integers."
            )
        if any(size is not None and size != have for have, size in zip(y.shape[1:], shape[1:], strict=False)):
            raise ValueError(
                f"A target array with shape {y.shape} was passed for an output of shape {shape} while using as loss "
                f"`{loss.__name__}`. This loss expects targets to have the same shape as the output."
            )


def collect_metrics(metrics: Any, output_names: Any) -> list[list[Any]]:
    """The metrics of each output."""
    if not metrics:
        return [[] for _ in output_names]
    if isinstance(metrics, list):
        return [copy.copy(metrics) for _ in output_names]
    if isinstance(metrics, dict):
        return [to_list(metrics.get(name, [])) for name in output_names]
    raise TypeError(f"Type of `metrics` argument not understood. Expected a list or dictionary, found: {metrics}")


def batch_shuffle(index_array: np.ndarray, batch_size: int) -> np.ndarray:
    """The numbers in another order of whole batches; what is left over stays at the end."""
    full = len(index_array) // batch_size * batch_size
    batches = index_array[:full].reshape(-1, batch_size)
    np.random.shuffle(batches)
    return np.append(batches.ravel(), index_array[full:])


def make_batches(size: int, batch_size: int) -> list[tuple[int, int]]:
    """Where batches begin and end."""
    return [(start, min(size, start + batch_size)) for start in range(0, size, batch_size)]


def weighted_masked_objective(fn: Any) -> Callable[..., Any] | None:
    """The mean of a loss over what is not masked: a function of targets, predictions, weights and a mask."""
    if fn is None:
        return None

    def weighted(y_true: Any, y_pred: Any, weights: Any, mask: Any = None) -> Any:
        scores = fn(y_true, y_pred)
        if mask is not None:
            mask = K.cast(mask, K.floatx())
            scores = scores * mask / K.mean(mask)
        if weights is not None:
            more = range(K.ndim(weights) or 0, K.ndim(scores) or 0)
            scores = (K.mean(scores, axis=list(more)) if more else scores) * weights
            scores = scores / K.mean(K.cast(K.not_equal(weights, 0), K.floatx()))
        return K.mean(scores)

    return weighted


def fit_generator(model: Any, *args: Any, **kwargs: Any) -> Any:
    return model.fit_generator(*args, **kwargs)


def evaluate_generator(model: Any, *args: Any, **kwargs: Any) -> Any:
    return model.evaluate_generator(*args, **kwargs)


def predict_generator(model: Any, *args: Any, **kwargs: Any) -> Any:
    return model.predict_generator(*args, **kwargs)
