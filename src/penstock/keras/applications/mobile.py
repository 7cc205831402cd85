"""MobileNet: depthwise convolutions for small devices (Howard et al., 2017; Sandler et al., 2018)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras import layers
from penstock.keras.applications.building import Options, application, channels, normalised, size_of


def _relu6(x: Any, name: str) -> Any:
    return layers.ReLU(6.0, name=name)(x)


def _padded(x: Any, name: str) -> Any:
    """Zeros for a convolution of size 3 and stride 2: as many before as behind if the size is odd, else only behind."""
    sizes = [n for axis, n in enumerate(x.shape.as_list()) if axis not in (0, channels())]
    before = [1 if n is None else n % 2 for n in sizes]
    return layers.ZeroPadding2D([(n, 1) for n in before], name=name)(x)


@export("keras.applications.MobileNet", "keras.applications.mobilenet.MobileNet")
def MobileNet(
    input_shape: Any = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 1e-3,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """13 depthwise separable convolutions. alpha: how many times the number of channels that was published."""
    _check(weights, alpha, (0.25, 0.50, 0.75, 1.0), depth_multiplier)

    def body(x: Any) -> Any:
        x = layers.ZeroPadding2D(((0, 1), (0, 1)), name="conv1_pad")(x)
        x = layers.Conv2D(int(32 * alpha), 3, strides=2, use_bias=False, name="conv1")(x)
        x = _relu6(normalised(x, "conv1_bn"), "conv1_relu")
        widths = (64, 128, 128, 256, 256, *([512] * 6), 1024, 1024)
        for i, filters in enumerate(widths, 1):
            stride = 2 if i in (2, 4, 6, 12) else 1
            if stride == 2:
                x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{i}")(x)
            x = layers.DepthwiseConv2D(
                3, stride, "valid" if stride == 2 else "same", depth_multiplier, use_bias=False, name=f"conv_dw_{i}"
            )(x)
            x = _relu6(normalised(x, f"conv_dw_{i}_bn"), f"conv_dw_{i}_relu")
            x = layers.Conv2D(int(filters * alpha), 1, padding="same", use_bias=False, name=f"conv_pw_{i}")(x)
            x = _relu6(normalised(x, f"conv_pw_{i}_bn"), f"conv_pw_{i}_relu")
        return x

    def top(x: Any, classes: int) -> Any:
        count = size_of(x)
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Reshape((count, 1, 1) if channels() == 1 else (1, 1, count), name="reshape_1")(x)
        x = layers.Dropout(dropout, name="dropout")(x)
        x = layers.Conv2D(classes, 1, padding="same", name="conv_preds")(x)
        x = layers.Reshape((classes,), name="reshape_2")(x)
        return layers.Activation("softmax", name="act_softmax")(x)

    size = _size(input_shape)
    text = {1.0: "1_0", 0.75: "7_5", 0.50: "5_0", 0.25: "2_5"}.get(alpha, "")
    file = f"mobilenet/mobilenet_{text}_{size}_tf" + ("" if include_top else "_no_top") + ".h5"
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    return application(f"mobilenet_{alpha:0.2f}_{size}", body, options, file, None, top, size)


@export("keras.applications.MobileNetV2", "keras.applications.mobilenet_v2.MobileNetV2")
def MobileNetV2(
    input_shape: Any = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """17 blocks that widen, convolve each channel, and narrow again. alpha: as in MobileNet."""
    _check(weights, alpha, (0.35, 0.50, 0.75, 1.0, 1.3, 1.4), 1)

    def conv(x: Any, filters: int, name: str, norm: str) -> Any:
        x = layers.Conv2D(filters, 1, padding="same", use_bias=False, name=name)(x)
        return normalised(x, norm, epsilon=1e-3, momentum=0.999)

    def block(x: Any, filters: int, stride: int, expansion: int, name: str) -> Any:
        before, count = x, size_of(x)
        if expansion > 1:
            x = _relu6(conv(x, expansion * count, f"{name}_expand", f"{name}_expand_BN"), f"{name}_expand_relu")
        if stride == 2:
            x = _padded(x, f"{name}_pad")
        padding = "valid" if stride == 2 else "same"
        x = layers.DepthwiseConv2D(3, stride, padding, use_bias=False, name=f"{name}_depthwise")(x)
        x = normalised(x, f"{name}_depthwise_BN", epsilon=1e-3, momentum=0.999)
        x = conv(_relu6(x, f"{name}_depthwise_relu"), filters, f"{name}_project", f"{name}_project_BN")
        return layers.Add(name=f"{name}_add")([before, x]) if stride == 1 and count == filters else x

    def body(x: Any) -> Any:
        x = _padded(x, "Conv1_pad")
        x = layers.Conv2D(_divisible(32 * alpha), 3, strides=2, use_bias=False, name="Conv1")(x)
        x = _relu6(normalised(x, "bn_Conv1", epsilon=1e-3, momentum=0.999), "Conv1_relu")
        x = block(x, _divisible(16 * alpha), 1, 1, "expanded_conv")
        widths = [24] * 2 + [32] * 3 + [64] * 4 + [96] * 3 + [160] * 3 + [320]
        for i, filters in enumerate(widths, 1):
            x = block(x, _divisible(filters * alpha), 2 if i in (1, 3, 6, 13) else 1, 6, f"block_{i}")
        last = _divisible(1280 * alpha) if alpha > 1.0 else 1280
        return _relu6(conv(x, last, "Conv_1", "Conv_1_bn"), "out_relu")

    def top(x: Any, classes: int) -> Any:
        x = layers.GlobalAveragePooling2D()(x)
        return layers.Dense(classes, activation="softmax", name="Logits")(x)

    size = _size(input_shape)
    end = "" if include_top else "_no_top"
    file = f"mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{float(alpha)}_{size}{end}.h5"
    options = Options(include_top, weights, input_tensor, input_shape, pooling, classes)
    return application(f"mobilenetv2_{alpha:0.2f}_{size}", body, options, file, None, top, size)


def _divisible(channels: float) -> int:
    """The nearest multiple of 8, from 8 on, that is not below nine tenths."""
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * channels else nearest


def _size(input_shape: Any) -> int:
    """The size of images in the published model that is meant."""
    sides = [] if input_shape is None else list(input_shape)[1:] if channels() == 1 else list(input_shape)[:2]
    return int(sides[0]) if sides and sides[0] == sides[1] and sides[0] in (96, 128, 160, 192, 224) else 224


def _check(weights: Any, alpha: float, published: tuple[float, ...], depth_multiplier: int) -> None:
    if weights == "imagenet" and (alpha not in published or depth_multiplier != 1):
        raise ValueError(
            f"If imagenet weights are being loaded, alpha can be one of {published} and depth multiplier must be 1."
        )
