"""`Input`: where a model begins (TF: tf.keras.Input)."""

from __future__ import annotations

from typing import Any

from penstock.client.variable import Variable
from penstock.errors import UnimplementedError
from penstock.export import export
from penstock.keras import backend as K
from penstock.keras.backend.calls import Call
from penstock.keras.engine.layer import Layer
from penstock.keras.engine.node import history_of
from penstock.ops.basic import identity
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape


@export("keras.layers.InputLayer")
class InputLayer(Layer):
    """The layer whose only result is a placeholder, or a given tensor."""

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: str | None = None,
        ragged: bool = False,
        **kwargs: Any,
    ) -> None:
        if ragged:
            raise UnimplementedError(
                None, None, "Inputs of models are not ragged here: feed padded arrays, with a Masking."
            )
        if input_tensor is not None:
            if isinstance(input_tensor, Variable):
                input_tensor = identity(input_tensor)
            dtype, shape = input_tensor.dtype, tuple(input_tensor.shape.as_list())
        elif "batch_shape" in kwargs or "batch_input_shape" in kwargs:
            shape = tuple(kwargs.pop("batch_input_shape", None) or kwargs.pop("batch_shape"))
        else:
            if input_shape is None:
                raise ValueError("An Input layer should be passed either a `batch_input_shape` or an `input_shape`.")
            shape = (batch_size, *_numbers(input_shape))
        dtype = as_dtype(dtype or K.floatx()).base_dtype
        super().__init__(name=name or f"input_{K.get_uid('input')}", dtype=dtype, batch_input_shape=shape, **kwargs)
        self.sparse = sparse
        self.is_placeholder = input_tensor is None
        self.built = True
        if input_tensor is None:
            input_tensor = K.placeholder(shape, dtype=dtype, sparse=sparse, name=self.name)
        elif history_of(input_tensor) is not None:
            input_tensor = identity(input_tensor)
        self._record([], [input_tensor], list, {}, Call())

    def get_config(self) -> dict[str, Any]:
        return {
            "batch_input_shape": self._batch_input_shape,
            "dtype": self._dtype.name if self._dtype else None,
            "sparse": self.sparse,
            "ragged": False,
            "name": self.name,
        }


def _numbers(shape: Any) -> tuple[Any, ...]:
    try:
        return tuple(TensorShape(shape).as_list())
    except TypeError:
        raise ValueError(f"`shape` must be a tuple of sizes without that of the batch, got {shape!r}") from None


@export("keras.Input", "keras.layers.Input")
def Input(
    shape: Any = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: Any = None,
    sparse: bool = False,
    tensor: Any = None,
    **kwargs: Any,
) -> Any:
    """A tensor for a model to begin at: of `shape`, which does not count the batch, or of `batch_shape`.

    `tensor`: a tensor to take instead of feeding one.
    """
    if "batch_shape" in kwargs:
        kwargs["batch_input_shape"] = kwargs.pop("batch_shape")
    elif shape is None and tensor is None:
        raise ValueError(
            "Please provide to Input either a `shape` or a `tensor` argument. Note that `shape` does not include the "
            "batch dimension."
        )
    layer = InputLayer(shape, batch_size, dtype, tensor, sparse, name, **kwargs)
    return layer.output
