"""What the architectures have in common: their inputs, their ends, their weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.keras import backend as K, layers
from penstock.keras.engine.model import Model
from penstock.keras.engine.node import history_of
from penstock.keras.engine.topology import get_source_inputs
from penstock.keras.utils.files import get_file

_PUBLISHED = "https://storage.googleapis.com/tensorflow/keras-applications/"


@dataclass(frozen=True)
class Options:
    """The arguments that all architectures take.

    include_top: whether the model ends in `classes` probabilities, or in features, which `pooling` ("avg", "max")
    reduces to one number for each channel. weights: None for initial ones, "imagenet", or the path of a file.
    input_shape: without the batch. input_tensor: a tensor to begin at.
    """

    include_top: bool = True
    weights: Any = "imagenet"
    input_tensor: Any = None
    input_shape: Any = None
    pooling: str | None = None
    classes: int = 1000


def channels() -> int:
    """The axis of channels in batches of images."""
    return 1 if K.image_data_format() == "channels_first" else 3


def averaged(x: Any, classes: int) -> Any:
    """Probabilities of classes from the means of the channels."""
    x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
    return layers.Dense(classes, activation="softmax", name="predictions")(x)


def application(
    name: str,
    body: Callable[[Any], Any],
    options: Options,
    file: str,
    hashes: tuple[str, str] | None = None,
    top: Callable[[Any, int], Any] = averaged,
    size: int = 224,
    least: int = 32,
) -> Model:
    """The model whose features of images are `body`, and whose probabilities of classes are `top` of them.

    `file`: where the weights are published, with {} for what is in the name of those without the end. `hashes`: theirs,
    with and without the end. `size`: of images in the published models; `least`: the smallest that can be.
    """
    if options.weights == "imagenet" and options.include_top and options.classes != 1000:
        raise ValueError("If using `weights` as `imagenet` with `include_top` as true, `classes` should be 1000")
    given = options.input_tensor
    if given is None:
        inputs = layers.Input(shape=_shape(options, size, least))
    else:
        inputs = given if history_of(given) is not None else layers.Input(tensor=given, shape=options.input_shape)
    x = body(inputs)
    if options.include_top:
        x = top(x, options.classes)
    elif options.pooling == "avg":
        x = layers.GlobalAveragePooling2D()(x)
    elif options.pooling == "max":
        x = layers.GlobalMaxPooling2D()(x)
    model = Model(get_source_inputs(inputs), x, name=name)
    if options.weights == "imagenet":
        file = file.format("" if options.include_top else "_notop")
        path = get_file(
            file.rpartition("/")[2], _PUBLISHED + file, cache_subdir="models",
            file_hash=None if hashes is None else hashes[0 if options.include_top else 1],
        )  # fmt: skip
        model.load_weights(path)
    elif options.weights is not None:
        model.load_weights(options.weights)
    return model


def _shape(options: Options, size: int, least: int) -> tuple[Any, ...]:
    first = K.image_data_format() == "channels_first"
    given = options.input_shape
    if given is None:
        side = size if options.include_top else None
        given = (3, side, side) if first else (side, side, 3)
    given = tuple(given)
    if len(given) != 3:
        raise ValueError("`input_shape` must be a tuple of three integers.")
    colours, sides = (given[0], given[1:]) if first else (given[2], given[:2])
    if options.weights == "imagenet" and colours != 3:
        raise ValueError(f"The input must have 3 channels; got `input_shape={given}`")
    if options.weights == "imagenet" and options.include_top and sides != (size, size):
        wanted = (3, size, size) if first else (size, size, 3)
        raise ValueError(
            f"When setting `include_top=True` and loading `imagenet` weights, `input_shape` should be {wanted}."
        )
    if any(n is not None and n < least for n in sides):
        raise ValueError(f"Input size must be at least {least}x{least}; got `input_shape={given}`")
    if options.include_top and None in given:
        raise ValueError(
            f"If `include_top` is True, you should specify a static `input_shape`. Got `input_shape={given}`"
        )
    return given


# --- parts that several have ----------------------------------------------------------------------------


def normalised(x: Any, name: str | None = None, **arguments: Any) -> Any:
    """Batch normalisation of the channels."""
    return layers.BatchNormalization(channels(), name=name, **arguments)(x)


def rectified(x: Any, name: str | None = None) -> Any:
    return layers.Activation("relu", name=name)(x)


def joined(parts: list[Any], name: str | None = None) -> Any:
    """Channels beside each other."""
    return layers.Concatenate(channels(), name=name)(parts)


def size_of(x: Any) -> int:
    """The number of channels."""
    return int(x.shape.as_list()[channels()])
