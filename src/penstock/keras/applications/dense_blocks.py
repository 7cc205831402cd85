"""DenseNet: each layer sees all before it in its block (Huang et al., 2016)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras import layers
from penstock.keras.applications.building import Options, application, joined, normalised, rectified, size_of

_EPSILON = 1.001e-5


def _activated(x: Any, name: str) -> Any:
    return rectified(normalised(x, f"{name}bn", epsilon=_EPSILON), f"{name}relu")


def _grown(x: Any, name: str) -> Any:
    """32 more channels."""
    new = layers.Conv2D(128, 1, use_bias=False, name=f"{name}_1_conv")(_activated(x, f"{name}_0_"))
    new = layers.Conv2D(32, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(_activated(new, f"{name}_1_"))
    return joined([x, new], f"{name}_concat")


def _densenet(name: str, blocks: tuple[int, ...], options: Options, hashes: tuple[str, str]) -> Any:
    def body(x: Any) -> Any:
        x = layers.ZeroPadding2D(3)(x)
        x = layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1/conv")(x)
        x = layers.ZeroPadding2D(1)(_activated(x, "conv1/"))
        x = layers.MaxPooling2D(3, strides=2, name="pool1")(x)
        for block, count in enumerate(blocks, 2):
            for i in range(1, count + 1):
                x = _grown(x, f"conv{block}_block{i}")
            if block < 5:
                half = _activated(x, f"pool{block}_")
                half = layers.Conv2D(size_of(x) // 2, 1, use_bias=False, name=f"pool{block}_conv")(half)
                x = layers.AveragePooling2D(2, strides=2, name=f"pool{block}_pool")(half)
        return _activated(x, "")

    file = f"densenet/{name}_weights_tf_dim_ordering_tf_kernels{{}}.h5"
    return application(name, body, options, file, hashes)


@export("keras.applications.DenseNet121", "keras.applications.densenet.DenseNet121")
def DenseNet121(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """121 layers."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738")
    return _densenet("densenet121", (6, 12, 24, 16), options, hashes)


@export("keras.applications.DenseNet169", "keras.applications.densenet.DenseNet169")
def DenseNet169(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """169 layers."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b")
    return _densenet("densenet169", (6, 12, 32, 32), options, hashes)


@export("keras.applications.DenseNet201", "keras.applications.densenet.DenseNet201")
def DenseNet201(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """201 layers."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    hashes = ("1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1")
    return _densenet("densenet201", (6, 12, 48, 32), options, hashes)
