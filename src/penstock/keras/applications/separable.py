"""Xception: separable convolutions (Chollet, 2016)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras import layers
from penstock.keras.applications.building import Options, application, normalised, rectified


def _separable(x: Any, filters: int, name: str) -> Any:
    x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return normalised(x, f"{name}_bn")


def _shrunk(x: Any, filters: tuple[int, int], block: str, first: bool = False) -> Any:
    """Two separable convolutions and a pool, beside a convolution: half the size."""
    residual = normalised(layers.Conv2D(filters[1], 1, strides=2, padding="same", use_bias=False)(x))
    if not first:
        x = rectified(x, f"{block}_sepconv1_act")
    x = _separable(x, filters[0], f"{block}_sepconv1")
    x = _separable(rectified(x, f"{block}_sepconv2_act"), filters[1], f"{block}_sepconv2")
    return layers.add([layers.MaxPooling2D(3, strides=2, padding="same", name=f"{block}_pool")(x), residual])


def _body(x: Any) -> Any:
    for i, (filters, stride) in enumerate(((32, 2), (64, 1)), 1):
        x = layers.Conv2D(filters, 3, strides=stride, use_bias=False, name=f"block1_conv{i}")(x)
        x = rectified(normalised(x, f"block1_conv{i}_bn"), f"block1_conv{i}_act")
    x = _shrunk(x, (128, 128), "block2", first=True)
    x = _shrunk(x, (256, 256), "block3")
    x = _shrunk(x, (728, 728), "block4")
    for block in range(5, 13):
        residual = x
        for i in (1, 2, 3):
            name = f"block{block}_sepconv{i}"
            x = _separable(rectified(x, f"{name}_act"), 728, name)
        x = layers.add([x, residual])
    x = _shrunk(x, (728, 1024), "block13")
    for i, filters in enumerate((1536, 2048), 1):
        x = rectified(_separable(x, filters, f"block14_sepconv{i}"), f"block14_sepconv{i}_act")
    return x


@export("keras.applications.Xception", "keras.applications.xception.Xception")
def Xception(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """36 convolutions, of which 34 are separable."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("0a58e3b7378bc2990ea3b43d5981f1f6", "b0042744bf5b25fce3cb969f33bebb97")
    file = "xception/xception_weights_tf_dim_ordering_tf_kernels{}.h5"
    return application("xception", _body, options, file, hashes, size=299, least=71)
