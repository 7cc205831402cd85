"""ResNet: sums of blocks and of what enters them (He et al., 2015 and 2016)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras import layers
from penstock.keras.applications.building import Options, application, normalised, rectified

_FILE = "resnet/{}_weights_tf_dim_ordering_tf_kernels{{}}.h5"
_EPSILON = 1.001e-5
_WIDTHS = (64, 128, 256, 512)


def _stem(x: Any) -> Any:
    x = layers.ZeroPadding2D(3, name="conv1_pad")(x)
    return layers.Conv2D(64, 7, strides=2, name="conv1_conv")(x)


def _pooled(x: Any) -> Any:
    x = layers.ZeroPadding2D(1, name="pool1_pad")(x)
    return layers.MaxPooling2D(3, strides=2, name="pool1_pool")(x)


def _activated(x: Any, name: str) -> Any:
    return rectified(normalised(x, f"{name}_bn", epsilon=_EPSILON), f"{name}_relu")


def _resnet(name: str, blocks: tuple[int, ...], options: Options, hashes: tuple[str, str]) -> Any:
    def block(x: Any, filters: int, stride: int, first: bool, name: str) -> Any:
        shortcut = x
        if first:
            shortcut = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(x)
            shortcut = normalised(shortcut, f"{name}_0_bn", epsilon=_EPSILON)
        x = _activated(layers.Conv2D(filters, 1, strides=stride, name=f"{name}_1_conv")(x), f"{name}_1")
        x = _activated(layers.Conv2D(filters, 3, padding="same", name=f"{name}_2_conv")(x), f"{name}_2")
        x = layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
        x = normalised(x, f"{name}_3_bn", epsilon=_EPSILON)
        return rectified(layers.Add(name=f"{name}_add")([shortcut, x]), f"{name}_out")

    def body(x: Any) -> Any:
        x = _pooled(_activated(_stem(x), "conv1"))
        for stack, (filters, count) in enumerate(zip(_WIDTHS, blocks, strict=True), 2):
            for i in range(1, count + 1):
                x = block(x, filters, 2 if i == 1 and stack > 2 else 1, i == 1, f"conv{stack}_block{i}")
        return x

    return application(name, body, options, _FILE.format(name), hashes)


def _resnet_v2(name: str, blocks: tuple[int, ...], options: Options, hashes: tuple[str, str]) -> Any:
    def block(x: Any, filters: int, stride: int, first: bool, name: str) -> Any:
        before = _activated(x, f"{name}_preact")
        if first:
            shortcut = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(before)
        else:
            shortcut = layers.MaxPooling2D(1, strides=stride)(x) if stride > 1 else x
        x = _activated(layers.Conv2D(filters, 1, use_bias=False, name=f"{name}_1_conv")(before), f"{name}_1")
        x = layers.ZeroPadding2D(1, name=f"{name}_2_pad")(x)
        x = layers.Conv2D(filters, 3, strides=stride, use_bias=False, name=f"{name}_2_conv")(x)
        x = layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(_activated(x, f"{name}_2"))
        return layers.Add(name=f"{name}_out")([shortcut, x])

    def body(x: Any) -> Any:
        x = _pooled(_stem(x))
        for stack, (filters, count) in enumerate(zip(_WIDTHS, blocks, strict=True), 2):
            for i in range(1, count + 1):
                x = block(x, filters, 2 if i == count and stack < 5 else 1, i == 1, f"conv{stack}_block{i}")
        return _activated(x, "post")

    return application(name, body, options, _FILE.format(name), hashes)


@export("keras.applications.ResNet50", "keras.applications.resnet50.ResNet50", "keras.applications.resnet.ResNet50")
def ResNet50(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """50 layers."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("2cb95161c43110f7111970584f804107", "4d473c1dd8becc155b73f8504c6f6626")
    return _resnet("resnet50", (3, 4, 6, 3), options, hashes)


@export("keras.applications.ResNet101", "keras.applications.resnet.ResNet101")
def ResNet101(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """101 layers."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("f1aeb4b969a6efcfb50fad2f0c20cfc5", "88cf7a10940856eca736dc7b7e228a21")
    return _resnet("resnet101", (3, 4, 23, 3), options, hashes)


@export("keras.applications.ResNet152", "keras.applications.resnet.ResNet152")
def ResNet152(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """152 layers."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("100835be76be38e30d865e96f2aaae62", "ee4c566cf9a93f14d82f913c2dc6dd0c")
    return _resnet("resnet152", (3, 8, 36, 3), options, hashes)


@export("keras.applications.ResNet50V2", "keras.applications.resnet_v2.ResNet50V2")
def ResNet50V2(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """50 layers, activated before convolutions."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("3ef43a0b657b3be2300d5770ece849e0", "fac2f116257151a9d068a22e544a4917")
    return _resnet_v2("resnet50v2", (3, 4, 6, 3), options, hashes)


@export("keras.applications.ResNet101V2", "keras.applications.resnet_v2.ResNet101V2")
def ResNet101V2(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """101 layers, activated before convolutions."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("6343647c601c52e1368623803854d971", "c0ed64b8031c3730f411d2eb4eea35b5")
    return _resnet_v2("resnet101v2", (3, 4, 23, 3), options, hashes)


@export("keras.applications.ResNet152V2", "keras.applications.resnet_v2.ResNet152V2")
def ResNet152V2(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """152 layers, activated before convolutions."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("a49b44d1979771252814e80f8ec446f9", "ed17cf2e0169df9d443503ef94b23b33")
    return _resnet_v2("resnet152v2", (3, 8, 36, 3), options, hashes)
