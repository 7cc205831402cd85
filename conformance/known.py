"""Where Penstock differs from TensorFlow, and why: what `docs/conformance.md` shows and the tests allow."""

from __future__ import annotations

RANDOM = {
    "RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "ParameterizedTruncatedNormal",
    "RandomGamma", "RandomPoissonV2", "RandomPoisson", "RandomShuffle", "Multinomial",
    "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "FractionalMaxPool", "FractionalAvgPool",
    "UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler",
    "ThreadUnsafeUnigramCandidateSampler", "FixedUnigramCandidateSampler", "Timestamp",
}  # fmt: skip
"""Random streams are torch's (and the time passes): shapes and dtypes are compared, distributions tested in
tests/ops/test_random.py."""

SINGLE = {
    "ResizeBilinear", "ResizeBilinearGrad", "ResizeBicubic", "ResizeBicubicGrad", "CropAndResize",
    "CropAndResizeGradImage", "CropAndResizeGradBoxes",
}  # fmt: skip
"""Ops whose weights are float32 whatever their other inputs are: compared as such."""

FILES = {"DecodeJpeg": 6, "DecodeAndCropJpeg": 6, "DecodeImage": 6}
"""By how much of 255 decoded pixels may differ: TensorFlow takes libjpeg's fast DCT, Pillow the accurate one."""

REFUSED = r"error: a value, TensorFlow (InvalidArgumentError|ValueError)"
INTEGERS = r"error: UnimplementedError, TensorFlow a value \(No kernel"
ZERO_TIMES_INF = "a zero gradient times an infinite derivative is NaN, as in TensorFlow 1.x (2.21: zero)"
LENIENT = "accepts an input that TensorFlow rejects: "

_CLASSES = (
    r"error: a value, TensorFlow InvalidArgumentError \(`true_candidate` out of range",
    "takes true classes beyond the range, as TensorFlow 1.x",
)

KNOWN: dict[str, list[tuple[str, str]]] = {
    "AccumulateNV2": [
        ("shapes: build error", "inputs whose shape differs from the attribute are rejected when the op is built")
    ],
    "AllCandidateSampler": [_CLASSES],
    "ArgMax": [
        (REFUSED, "TensorFlow misreads an axis of type int16"),
        ("shapes", "TensorFlow misreads an axis of type int16"),
    ],
    "ArgMin": [
        (REFUSED, "TensorFlow misreads an axis of type int16"),
        ("shapes", "TensorFlow misreads an axis of type int16"),
    ],
    "AvgPool": [("gradient", "TensorFlow divides by a different count if a SAME window is larger than its input")],
    "AvgPoolGrad": [("values", "TensorFlow divides by a different count if a SAME window is larger than its input")],
    "BiasAdd": [
        ("shapes", LENIENT + "NCHW of rank 2"),
        (REFUSED, LENIENT + "a bias that is not a vector, if ranks are unknown until the run"),
    ],
    "BiasAddGrad": [("shapes", LENIENT + "NCHW of rank 2")],
    "BiasAddV1": [(REFUSED, LENIENT + "a bias that is not a vector, if ranks are unknown until the run")],
    "BroadcastGradientArgs": [(REFUSED, LENIENT + "shapes that are not vectors")],
    "Cholesky": [
        ("error: InvalidArgumentError, TensorFlow a value", "not positive definite: rejected, as in TensorFlow 1.x")
    ],
    "ClipByValue": [(INTEGERS, "complex numbers are not ordered (TensorFlow compares their real parts)")],
    "ComplexAbs": [(REFUSED, "TensorFlow has no kernel for a result of different precision")],
    "Conv2D": [("gradient", "without any window the gradient is zero (TensorFlow leaves memory uninitialised)")],
    "Conv2DBackpropFilter": [(REFUSED, LENIENT + "a batch size that differs from the gradient's")],
    "Conv2DBackpropInput": [
        (INTEGERS, "gradients of integers are not implemented"),
        ("gradient", "without any window the gradient is zero (TensorFlow leaves memory uninitialised)"),
    ],
    "Conv3DBackpropFilterV2": [(REFUSED, LENIENT + "a batch size that differs from the gradient's")],
    "Conv3DBackpropInputV2": [(REFUSED, LENIENT + "a batch size that differs from the gradient's")],
    "DepthwiseConv2dNative": [("gradient", "zero for an empty batch (TensorFlow leaves memory uninitialised)")],
    "DepthwiseConv2dNativeBackpropFilter": [
        ("values", "dilations are respected (TensorFlow's CPU kernel ignores them)"),
        (REFUSED, LENIENT + "a batch size that differs from the gradient's"),
    ],
    "DepthwiseConv2dNativeBackpropInput": [
        ("values", "dilations are respected (TensorFlow's CPU kernel ignores them)")
    ],
    "CTCBeamSearchDecoder": [("values", "computed in double precision (TensorFlow rounds to float32 internally)")],
    "CTCLoss": [("values", "computed in double precision (TensorFlow rounds to float32 internally)")],
    "DecodeJSONExample": [("values", "the same message, with packed numbers, as protobuf writes them")],
    "Dequantize": [("error: a value, TensorFlow InvalidArgumentError", "bfloat16 results in every mode")],
    "Diag": [(REFUSED, LENIENT + "a scalar")],
    "DiagPart": [("error: InvalidArgumentError, TensorFlow a value", "a scalar has no diagonal")],
    "Digamma": [("values", "at its poles: the one-sided limit, infinite (TensorFlow: NaN)")],
    "Div": [("values", "complex division by zero is infinite if the numerator is not zero (TensorFlow: NaN)")],
    "Elu": [("gradient", "NaN outputs stay NaN")],
    "EluGrad": [("values", "NaN outputs stay NaN")],
    "EncodeJpeg": [
        ("values", "a different file with the same pixels"),
        ("error: InvalidArgumentError, TensorFlow InternalError", "an image without pixels"),
    ],
    "EncodeJpegVariableQuality": [
        ("values", "a different file with the same pixels"),
        ("error: InvalidArgumentError, TensorFlow InternalError", "an image without pixels"),
    ],
    "EncodePng": [
        ("values", "a different file with the same pixels"),
        ("error: InvalidArgumentError, TensorFlow InternalError", "an image without pixels"),
    ],
    "EditDistance": [
        (REFUSED, LENIENT + "one pair of sequences"),
        ("error: InvalidArgumentError, TensorFlow InternalError", "an index out of bounds"),
    ],
    "Einsum": [("gradient: NotImplementedError", "the gradient of '...' needs known ranks")],
    "Erf": [("values", "erf(inf) is 1 (TensorFlow's vectorised half-precision kernel: NaN)")],
    "EuclideanNorm": [(REFUSED, LENIENT + "axis 0 of a scalar of unknown rank")],
    "FakeQuantWithMinMaxArgs": [
        ("values", "a number halfway between two steps goes where TensorFlow 1.15 rounds it (2.21: to the other)")
    ],
    "FusedBatchNorm": [
        (REFUSED, LENIENT + "a scale of one element"),
        ("values", "the reserved outputs hold what Penstock's gradient needs"),
    ],
    "FusedBatchNormV2": [("values", "the reserved outputs hold what Penstock's gradient needs")],
    "FusedBatchNormV3": [("values", "the reserved outputs hold what Penstock's gradient needs")],
    "FusedBatchNormGrad": [(REFUSED, LENIENT + "x whose batch size differs from the gradient's")],
    "FusedBatchNormGradV2": [(REFUSED, LENIENT + "x whose batch size differs from the gradient's")],
    "FusedBatchNormGradV3": [(REFUSED, LENIENT + "x whose batch size differs from the gradient's")],
    "GatherV2": [("gradient: NotImplementedError", "a gradient with batch_dims needs a constant axis and known ranks")],
    "Igamma": [
        ("values", "the series is summed to its end for large arguments (TensorFlow stops earlier)"),
        ("gradient", "finite at x = 0 if a is 1 (TensorFlow: NaN)"),
    ],
    "IgammaGradA": [("values", "the series is summed to its end for large arguments (TensorFlow stops earlier)")],
    "Igammac": [
        ("values", "the series is summed to its end for large arguments (TensorFlow stops earlier)"),
        ("gradient", "finite at x = 0 if a is 1 (TensorFlow: NaN)"),
    ],
    "InvGrad": [("values", ZERO_TIMES_INF)],
    "Lgamma": [("gradient", "at its poles: the one-sided limit, infinite (TensorFlow: NaN)")],
    "ListDiff": [(REFUSED, LENIENT + "matrices, if ranks are unknown until the run")],
    "LogSoftmax": [(REFUSED, LENIENT + "a scalar")],
    "LogUniformCandidateSampler": [_CLASSES],
    "MatchingFiles": [
        ("error: NotFoundError", "a directory that is not there is an error, as in TensorFlow 1.x (2.21: no files)")
    ],
    "Max": [(REFUSED, LENIENT + "axis 0 of a scalar of unknown rank")],
    "MaxPool": [
        ("gradient", "without any window the gradient is zero (TensorFlow leaves memory uninitialised)"),
        ("error: UnimplementedError, TensorFlow a value", "windows over channels are not implemented"),
        (REFUSED, LENIENT + "an empty image"),
    ],
    "MaxPool3DGrad": [(REFUSED, LENIENT + "an input whose shape differs from the output's")],
    "MaxPool3DGradGrad": [(REFUSED, LENIENT + "an input whose shape differs from the output's")],
    "MaxPoolGrad": [(INTEGERS, "gradients of integers are not implemented")],
    "MaxPoolGradGrad": [
        (REFUSED, LENIENT + "an input whose shape differs from the output's"),
        (INTEGERS, "gradients of integers are not implemented"),
    ],
    "MaxPoolGradGradV2": [
        (REFUSED, LENIENT + "an input whose shape differs from the output's"),
        (INTEGERS, "gradients of integers are not implemented"),
    ],
    "MaxPoolGradV2": [(INTEGERS, "gradients of integers are not implemented")],
    "MaxPoolGradWithArgmax": [(INTEGERS, "gradients of integers are not implemented")],
    "MaxPoolWithArgmax": [
        (INTEGERS, "pooling of integers with argmax is not implemented"),
        (REFUSED, LENIENT + "an empty image"),
    ],
    "Mean": [(REFUSED, LENIENT + "axis 0 of a scalar of unknown rank")],
    "Min": [(REFUSED, LENIENT + "axis 0 of a scalar of unknown rank")],
    "MirrorPad": [(REFUSED, LENIENT + "REFLECT with no rows along an empty axis")],
    "MirrorPadGrad": [(REFUSED, LENIENT + "REFLECT with no rows along an empty axis")],
    "Polygamma": [("values", "at its poles: the one-sided limit, infinite (TensorFlow: NaN)")],
    "QuantizeAndDequantizeV2": [
        (REFUSED, LENIENT + "a range for each index of the axis (2.21's kernel takes scalars only)")
    ],
    "QuantizeAndDequantizeV4": [(REFUSED, "TensorFlow's kernel takes no range for each slice")],
    "QuantizeDownAndShrinkRange": [("values", "without values: a range of 0 (TensorFlow: the type's limits)")],
    "QuantizedAdd": [(REFUSED, LENIENT + "an empty tensor")],
    "QuantizedConv2D": [(REFUSED, LENIENT + "an empty batch")],
    "QuantizedInstanceNorm": [("values", "without values: a range from 0 on (TensorFlow: the type's limits)")],
    "QuantizedMul": [(REFUSED, LENIENT + "an empty tensor")],
    "QuantizedResizeBilinear": [
        ("error: a value, TensorFlow InternalError", "an empty batch has a range (TensorFlow forgets to give one)")
    ],
    "RaggedTensorToTensor": [
        ("error: InvalidArgumentError, TensorFlow a value", "row splits that leave values out are refused")
    ],
    "RandomGammaGrad": [("values", "a different approximation (equal to 1e-4), and different limits at the ends")],
    "Range": [("shapes", "a step of zero or of the wrong sign is rejected at run time")],
    "RGBToHSV": [("gradient", "if two channels are equal, the gradient goes to the other one")],
    "ReciprocalGrad": [("values", ZERO_TIMES_INF)],
    "RealDiv": [("values", "complex division by zero is infinite if the numerator is not zero (TensorFlow: NaN)")],
    "Relu6Grad": [("values", "an infinite gradient outside 0..6 gives 0 (TensorFlow: NaN)")],
    "RequantizationRange": [("values", "without values: a range of 0 (TensorFlow: the type's limits)")],
    "ResizeBicubicGrad": [
        ("error: InvalidArgumentError, TensorFlow a value", "a batch size that differs from the image's")
    ],
    "ResizeBilinearGrad": [
        ("error: InvalidArgumentError, TensorFlow a value", "a batch size that differs from the image's")
    ],
    "Reverse": [(REFUSED, LENIENT + "an empty tensor")],
    "IRFFT3D": [("values", "zero for an empty batch (TensorFlow leaves memory uninitialised)")],
    "RFFT3D": [("values", "zero for an empty batch (TensorFlow leaves memory uninitialised)")],
    "Round": [("values", "integers stay as they are (TensorFlow 2.21's kernel gives 0)")],
    "RsqrtGrad": [("values", ZERO_TIMES_INF)],
    "ScaleAndTranslateGrad": [
        ("error: InvalidArgumentError, TensorFlow a value", "a batch size that differs from the image's")
    ],
    "ScatterNd": [(REFUSED, LENIENT + "no updates for an output without elements")],
    "SelfAdjointEigV2": [
        ("values", "the signs of eigenvectors are arbitrary; without compute_v, the second output is empty"),
        ("gradient", "by eigenvectors whose signs are arbitrary"),
    ],
    "SeluGrad": [
        (REFUSED, LENIENT + "shapes that broadcast, if they are unknown until the run"),
        ("values", "NaN outputs stay NaN"),
    ],
    "SigmoidGrad": [
        ("values", "half precision is computed in float32 internally, so intermediate results do not overflow")
    ],
    "Softmax": [(REFUSED, LENIENT + "a scalar")],
    "SoftmaxCrossEntropyWithLogits": [
        ("gradient", "the labels' gradient through the second output is implemented (TensorFlow omits it)")
    ],
    "SparseAdd": [("values", "TensorFlow misreads a threshold whose type differs from the values'")],
    "SparseCross": [("error: InvalidArgumentError", "indices of rows beyond the batch are refused, not left out")],
    "SparseSegmentMean": [("gradient", "zero for a segment without rows (TensorFlow leaves memory uninitialised)")],
    "SparseSegmentSqrtN": [("gradient", "zero for a segment without rows (TensorFlow leaves memory uninitialised)")],
    "SparseSegmentSum": [("gradient", "zero for a segment without rows (TensorFlow leaves memory uninitialised)")],
    "SqrtGrad": [("values", ZERO_TIMES_INF)],
    "Sum": [(REFUSED, LENIENT + "axis 0 of a scalar of unknown rank")],
    "Svd": [
        ("values", "the signs of singular vectors are arbitrary; without compute_uv, the last outputs are empty"),
        ("gradient", "by singular vectors whose signs are arbitrary"),
    ],
    "TanhGrad": [
        ("values", "half precision is computed in float32 internally, so intermediate results do not overflow")
    ],
    "TruncateDiv": [
        ("error: InvalidArgumentError, TensorFlow InternalError", "the error for division by zero names the op")
    ],
    "TruncateMod": [
        ("error: InvalidArgumentError, TensorFlow InternalError", "the error for division by zero names the op")
    ],
    "Unique": [("values", "all NaNs count as one value")],
    "UniqueWithCounts": [("values", "all NaNs count as one value")],
    "Xdivy": [("values", "complex division by zero is infinite (TensorFlow: NaN)")],
    "Where": [(REFUSED, LENIENT + "a scalar")],
}
"""For an op, pairs of a regular expression that a difference matches from its start, and the reason."""
