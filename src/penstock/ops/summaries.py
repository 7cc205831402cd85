"""Ops that make Summary messages from values: strings for event files, which TensorBoard shows (paper 9.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from tensorboard.compat.proto import summary_pb2

from penstock import errors
from penstock.graph import shape_rules
from penstock.graph.codec import tensor_proto
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.ops.summary_values import Value, audio_values, histogram_value, image_values
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime


def _array(value: Any, dtype: Any) -> np.ndarray:
    return np.asarray(from_runtime(value, dtype))


def _tag(value: np.ndarray) -> str:
    if value.ndim:
        raise errors.InvalidArgumentError(None, None, f"tag must be a scalar, got shape {list(value.shape)}")
    return value.item().decode()


def _message(values: list[Any]) -> np.ndarray:
    return np.array(summary_pb2.Summary(value=values).SerializeToString(), object)


def _define(name: str, inputs: str, attrs: list[str]) -> OpDef:
    op = define_op(name, inputs, "summary: string", attrs=attrs)
    op.shape(shape_rules.scalar)
    op.not_differentiable()
    return op


SCALAR_SUMMARY = _define("ScalarSummary", "tags: string, values: T", ["T: realnumbertype"])


@SCALAR_SUMMARY.kernel(host=("tags", "values", "summary"))
def scalar_summary_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["T"]

    def summarize(tags: np.ndarray, values: Any) -> np.ndarray:
        if tags.shape != tuple(values.shape):
            tag = f" (tag '{tags.item().decode()}')" if tags.size == 1 else ""
            message = f"tags and values are not the same shape: {list(tags.shape)} != {list(values.shape)}{tag}"
            raise errors.InvalidArgumentError(None, None, message)
        numbers = _array(values, dtype).reshape(-1)
        flat = zip(tags.reshape(-1), numbers, strict=True)
        return _message([Value(tag=tag.decode(), simple_value=float(number)) for tag, number in flat])

    return summarize


HISTOGRAM_SUMMARY = _define("HistogramSummary", "tag: string, values: T", ["T: realnumbertype = float"])


@HISTOGRAM_SUMMARY.kernel(host=("tag", "values", "summary"))
def histogram_summary_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["T"]
    return lambda tag, values: _message([histogram_value(_tag(tag), _array(values, dtype))])


IMAGE_SUMMARY = _define(
    "ImageSummary",
    "tag: string, tensor: T",
    [
        "max_images: int >= 1 = 3",
        "T: {uint8, float, half, double} = float",
        "bad_color: tensor = uint8 [255, 0, 0, 255]",
    ],
)


@IMAGE_SUMMARY.kernel(host=("tag", "tensor", "summary"))
def image_summary_kernel(ctx: KernelContext) -> Kernel:
    dtype, most, bad_color = ctx["T"], ctx["max_images"], ctx["bad_color"]
    return lambda tag, tensor: _message(image_values(_tag(tag), _array(tensor, dtype), most, bad_color))


AUDIO_SUMMARY_V2 = _define(
    "AudioSummaryV2", "tag: string, tensor: float, sample_rate: float", ["max_outputs: int >= 1 = 3"]
)


@AUDIO_SUMMARY_V2.kernel(host=("tag", "tensor", "sample_rate", "summary"))
def audio_summary_kernel(ctx: KernelContext) -> Kernel:
    most = ctx["max_outputs"]

    def summarize(tag: np.ndarray, tensor: Any, sample_rate: Any) -> np.ndarray:
        return _message(audio_values(_tag(tag), tensor.cpu().numpy(), float(sample_rate), most))

    return summarize


TENSOR_SUMMARY_V2 = _define(
    "TensorSummaryV2", "tag: string, tensor: T, serialized_summary_metadata: string", ["T: type"]
)


@TENSOR_SUMMARY_V2.kernel(host=("tag", "tensor", "serialized_summary_metadata", "summary"))
def tensor_summary_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["T"]

    def summarize(tag: np.ndarray, tensor: Any, metadata: np.ndarray) -> np.ndarray:
        value = Value(tag=_tag(tag), tensor=tensor_proto(_array(tensor, dtype), dtype))
        value.metadata.ParseFromString(metadata.item())
        return _message([value])

    return summarize


MERGE_SUMMARY = _define("MergeSummary", "inputs: N * string", ["N: int >= 1"])


@MERGE_SUMMARY.kernel(host=("inputs", "summary"))
def merge_summary_kernel(ctx: KernelContext) -> Kernel:
    def merge(inputs: list[np.ndarray]) -> np.ndarray:
        merged, tags = [], set()
        for text in (item for array in inputs for item in array.reshape(-1)):
            for value in summary_pb2.Summary.FromString(text).value:
                if value.tag in tags:
                    message = f"Duplicate tag {value.tag} found in summary inputs"
                    raise errors.InvalidArgumentError(None, None, message)
                tags.add(value.tag)
            merged.append(text)
        return np.array(b"".join(merged), object)  # in protobuf, concatenated messages are merged

    return merge
