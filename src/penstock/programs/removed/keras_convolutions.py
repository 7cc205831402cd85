"""What recurrent convolutions of programs were made from until Keras 2.1 (`keras.layers.convolutional_recurrent`)."""

from __future__ import annotations

from typing import Any

from penstock.keras import layers
from penstock.keras.backend.settings import check_data_format
from penstock.keras.utils.inner import conv_output_length, normalize_padding, normalize_tuple
from penstock.programs.removed.keras_inner import Recurrent


class ConvRecurrent2D(Recurrent):
    """A recurrent layer over sequences of images [n, time, h, w, c]; subclasses define what those of Recurrent do, and
    `get_initial_state(inputs)`."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
        data_format: str | None = None, dilation_rate: Any = (1, 1), return_sequences: bool = False,
        go_backwards: bool = False, stateful: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(return_sequences, go_backwards=go_backwards, stateful=stateful, **kwargs)
        self.filters = filters
        self.kernel_size = normalize_tuple(kernel_size, 2, "kernel_size")
        self.strides = normalize_tuple(strides, 2, "strides")
        self.padding, self.data_format = normalize_padding(padding), check_data_format(data_format)
        self.dilation_rate = normalize_tuple(dilation_rate, 2, "dilation_rate")
        self.input_spec = [layers.InputSpec(ndim=5)]

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the output; of `return_state` with those of two states."""
        batch, time, *step = tuple(input_shape[0] if isinstance(input_shape, list) else input_shape)
        first = self.data_format == "channels_first"
        images = step[1:] if first else step[:2]
        sizes = [
            conv_output_length(size, kernel, self.padding, stride, dilation)
            for size, kernel, stride, dilation in zip(
                images, self.kernel_size, self.strides, self.dilation_rate, strict=True
            )
        ]
        state = (batch, self.filters, *sizes) if first else (batch, *sizes, self.filters)
        output = (batch, time, *state[1:]) if self.return_sequences else state
        return [output, state, state] if self.return_state else output

    def get_config(self) -> dict[str, Any]:
        names = "filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate"
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
