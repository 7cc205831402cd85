"""VGG: blocks of convolutions (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras import layers
from penstock.keras.applications.building import Options, application


def _vgg(depth: int, convolutions: tuple[int, ...], options: Options, hashes: tuple[str, str]) -> Any:
    def body(x: Any) -> Any:
        for block, (count, filters) in enumerate(zip(convolutions, (64, 128, 256, 512, 512), strict=True), 1):
            for i in range(1, count + 1):
                name = f"block{block}_conv{i}"
                x = layers.Conv2D(filters, 3, padding="same", activation="relu", name=name)(x)
            x = layers.MaxPooling2D(2, 2, name=f"block{block}_pool")(x)
        return x

    def top(x: Any, classes: int) -> Any:
        x = layers.Flatten(name="flatten")(x)
        x = layers.Dense(4096, activation="relu", name="fc1")(x)
        x = layers.Dense(4096, activation="relu", name="fc2")(x)
        return layers.Dense(classes, activation="softmax", name="predictions")(x)

    file = f"vgg{depth}/vgg{depth}_weights_tf_dim_ordering_tf_kernels{{}}.h5"
    return application(f"vgg{depth}", body, options, file, hashes, top)


@export("keras.applications.VGG16", "keras.applications.vgg16.VGG16")
def VGG16(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """13 convolutions and 3 dense layers."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _vgg(16, (2, 2, 3, 3, 3), options, ("64373286793e3c8b2b4e3219cbf3544b", "6d6bbae143d832006294945121d1f1fc"))


@export("keras.applications.VGG19", "keras.applications.vgg19.VGG19")
def VGG19(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """16 convolutions and 3 dense layers."""
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _vgg(19, (2, 2, 4, 4, 4), options, ("cbe5617147190e668d6c5d5026f83318", "253f8cb515780f3b799900260a226db6"))
