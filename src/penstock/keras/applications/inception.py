"""Inception (Szegedy et al., 2015 and 2016): convolutions of several sizes beside each other."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras import layers
from penstock.keras.applications.building import Options, application, joined, normalised, rectified, size_of


def _conv(x: Any, filters: int, size: Any, stride: int = 1, padding: str = "same", name: str | None = None) -> Any:
    """A convolution, normalised and rectified."""
    x = layers.Conv2D(filters, size, strides=stride, padding=padding, use_bias=False, name=name)(x)
    x = normalised(x, name and f"{name}_bn", scale=False)
    return rectified(x, name and f"{name}_ac")


def _convs(x: Any, *steps: tuple[Any, ...]) -> Any:
    """Convolutions one after another."""
    for step in steps:
        x = _conv(x, *step)
    return x


def _halved(x: Any) -> Any:
    return layers.MaxPooling2D(3, strides=2)(x)


def _mean(x: Any, filters: int) -> Any:
    return _conv(layers.AveragePooling2D(3, strides=1, padding="same")(x), filters, 1)


def _stem(x: Any) -> Any:
    x = _halved(_convs(x, (32, 3, 2, "valid"), (32, 3, 1, "valid"), (64, 3)))
    return _halved(_convs(x, (80, 1, 1, "valid"), (192, 3, 1, "valid")))


def _v3(x: Any) -> Any:
    x = _stem(x)
    for i, filters in enumerate((32, 64, 64)):
        parts = [_conv(x, 64, 1), _convs(x, (48, 1), (64, 5)), _convs(x, (64, 1), (96, 3), (96, 3)), _mean(x, filters)]
        x = joined(parts, f"mixed{i}")
    parts = [_conv(x, 384, 3, 2, "valid"), _convs(x, (64, 1), (96, 3), (96, 3, 2, "valid")), _halved(x)]
    x = joined(parts, "mixed3")
    row, column = (1, 7), (7, 1)
    for i, n in enumerate((128, 160, 160, 192), 4):
        one = _conv(x, 192, 1)
        seven = _convs(x, (n, 1), (n, row), (192, column))
        twice = _convs(x, (n, 1), (n, column), (n, row), (n, column), (192, row))
        x = joined([one, seven, twice, _mean(x, 192)], f"mixed{i}")
    three = _convs(x, (192, 1), (320, 3, 2, "valid"))
    x = joined([three, _convs(x, (192, 1), (192, row), (192, column), (192, 3, 2, "valid")), _halved(x)], "mixed8")
    for i in (9, 10):
        one = _conv(x, 320, 1)
        three = _conv(x, 384, 1)
        three = joined([_conv(three, 384, (1, 3)), _conv(three, 384, (3, 1))], f"mixed9_{i - 9}")
        twice = _convs(x, (448, 1), (384, 3))
        twice = joined([_conv(twice, 384, (1, 3)), _conv(twice, 384, (3, 1))])
        x = joined([one, three, twice, _mean(x, 192)], f"mixed{i}")
    return x


def _residual(x: Any, parts: list[Any], scale: float, name: str, activated: bool = True) -> Any:
    """`x` and the mixed parts, scaled."""
    up = layers.Conv2D(size_of(x), 1, padding="same", name=f"{name}_conv")(joined(parts, f"{name}_mixed"))
    x = layers.Lambda(lambda pair, scale: pair[0] + pair[1] * scale, arguments={"scale": scale}, name=name)([x, up])
    return rectified(x, f"{name}_ac") if activated else x


def _resnet(x: Any) -> Any:
    x = _stem(x)
    parts = [_conv(x, 96, 1), _convs(x, (48, 1), (64, 5)), _convs(x, (64, 1), (96, 3), (96, 3)), _mean(x, 64)]
    x = joined(parts, "mixed_5b")
    for i in range(1, 11):
        parts = [_conv(x, 32, 1), _convs(x, (32, 1), (32, 3)), _convs(x, (32, 1), (48, 3), (64, 3))]
        x = _residual(x, parts, 0.17, f"block35_{i}")
    parts = [_conv(x, 384, 3, 2, "valid"), _convs(x, (256, 1), (256, 3), (384, 3, 2, "valid")), _halved(x)]
    x = joined(parts, "mixed_6a")
    for i in range(1, 21):
        parts = [_conv(x, 192, 1), _convs(x, (128, 1), (160, (1, 7)), (192, (7, 1)))]
        x = _residual(x, parts, 0.1, f"block17_{i}")
    end = (3, 2, "valid")
    parts = [
        _convs(x, (256, 1), (384, *end)),
        _convs(x, (256, 1), (288, *end)),
        _convs(x, (256, 1), (288, 3), (320, *end)),
    ]
    x = joined([*parts, _halved(x)], "mixed_7a")
    for i in range(1, 11):
        parts = [_conv(x, 192, 1), _convs(x, (192, 1), (224, (1, 3)), (256, (3, 1)))]
        x = _residual(x, parts, 0.2 if i < 10 else 1.0, f"block8_{i}", activated=i < 10)
    return _conv(x, 1536, 1, name="conv_7b")


@export("keras.applications.InceptionV3", "keras.applications.inception_v3.InceptionV3")
def InceptionV3(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """94 convolutions, eleven mixed blocks."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("9a0d58056eeedaa3f26cb7ebd46da564", "bcbd6486424b2319ff4ef7d526e38f63")
    file = "inception_v3/inception_v3_weights_tf_dim_ordering_tf_kernels{}.h5"
    return application("inception_v3", _v3, options, file, hashes, size=299, least=75)


@export("keras.applications.InceptionResNetV2", "keras.applications.inception_resnet_v2.InceptionResNetV2")
def InceptionResNetV2(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """Mixed blocks whose results are added to what enters them."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("e693bd0210a403b3192acc6073ad2e96", "d19885ff4a710c122648d3b5c3b684e4")
    file = "inception_resnet_v2/inception_resnet_v2_weights_tf_dim_ordering_tf_kernels{}.h5"
    return application("inception_resnet_v2", _resnet, options, file, hashes, size=299, least=75)
