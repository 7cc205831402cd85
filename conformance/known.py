"""Where Penstock differs from TensorFlow, and why: what `docs/conformance.md` shows and the tests allow."""

from __future__ import annotations

RANDOM = {
    "RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "ParameterizedTruncatedNormal",
    "RandomGamma", "RandomPoissonV2", "RandomPoisson", "RandomShuffle", "Multinomial",
    "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "FractionalMaxPool", "FractionalAvgPool",
    "UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler",
    "ThreadUnsafeUnigramCandidateSampler", "FixedUnigramCandidateSampler",
}  # fmt: skip
"""Random streams are torch's: shapes and dtypes are compared, distributions tested in tests/ops/test_random.py."""

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
LENIENT = "takes an input that TensorFlow refuses: "

KNOWN: dict[str, list[tuple[str, str]]] = {
    "AccumulateNV2": [("shapes: build error", "inputs of another shape than the attribute are refused when built")],
    "ArgMax": [
        (REFUSED, "TensorFlow misreads an axis of type int16"),
        ("shapes", "TensorFlow misreads an axis of type int16"),
    ],
    "ArgMin": [
        (REFUSED, "TensorFlow misreads an axis of type int16"),
        ("shapes", "TensorFlow misreads an axis of type int16"),
    ],
    "AvgPool": [("gradient", "TensorFlow divides by another count where a SAME window is larger than its input")],
    "AvgPoolGrad": [("values", "TensorFlow divides by another count where a SAME window is larger than its input")],
    "BiasAdd": [
        ("shapes", LENIENT + "NCHW of rank 2"),
        (REFUSED, LENIENT + "a bias that is no vector, where ranks are unknown until the run"),
    ],
    "BiasAddGrad": [("shapes", LENIENT + "NCHW of rank 2")],
    "BiasAddV1": [(REFUSED, LENIENT + "a bias that is no vector, where ranks are unknown until the run")],
    "BroadcastGradientArgs": [(REFUSED, LENIENT + "shapes that are no vectors")],
    "Cholesky": [
        ("error: InvalidArgumentError, TensorFlow a value", "not positive definite: refused, as in TensorFlow 1.x")
    ],
    "ClipByValue": [(INTEGERS, "complex numbers have no order (TensorFlow compares their real parts)")],
    "ComplexAbs": [(REFUSED, "TensorFlow has no kernel for a result of another precision")],
    "Conv2D": [("gradient", "of no window: the gradient is zero (TensorFlow leaves memory as it was)")],
    "Conv2DBackpropFilter": [(REFUSED, LENIENT + "a batch of another size than the gradient's")],
    "Conv2DBackpropInput": [
        (INTEGERS, "gradients of integers are not there"),
        ("gradient", "of no window: the gradient is zero (TensorFlow leaves memory as it was)"),
    ],
    "Conv3DBackpropFilterV2": [(REFUSED, LENIENT + "a batch of another size than the gradient's")],
    "Conv3DBackpropInputV2": [(REFUSED, LENIENT + "a batch of another size than the gradient's")],
    "DepthwiseConv2dNative": [("gradient", "of an empty batch: zero (TensorFlow leaves memory as it was)")],
    "DepthwiseConv2dNativeBackpropFilter": [
        ("values", "dilations count (TensorFlow's CPU kernel ignores them)"),
        (REFUSED, LENIENT + "a batch of another size than the gradient's"),
    ],
    "DepthwiseConv2dNativeBackpropInput": [("values", "dilations count (TensorFlow's CPU kernel ignores them)")],
    "CTCBeamSearchDecoder": [("values", "in double precision throughout (TensorFlow rounds to float32 inside)")],
    "CTCLoss": [("values", "in double precision throughout (TensorFlow rounds to float32 inside)")],
    "DecodeJSONExample": [("values", "the same message; its numbers are packed, as protobuf writes them")],
    "Dequantize": [("error: a value, TensorFlow InvalidArgumentError", "bfloat16 results in every mode")],
    "Diag": [(REFUSED, LENIENT + "a scalar")],
    "DiagPart": [("error: InvalidArgumentError, TensorFlow a value", "a scalar has no diagonal")],
    "Digamma": [("values", "at its poles: infinite of the side's sign, as its limit (TensorFlow: NaN)")],
    "Div": [("values", "complex division by zero is infinite where the numerator is not zero (TensorFlow: NaN)")],
    "Elu": [("gradient", "NaN outputs stay NaN")],
    "EluGrad": [("values", "NaN outputs stay NaN")],
    "EncodeJpeg": [
        ("values", "the file is another one, with the same pixels"),
        ("error: InvalidArgumentError, TensorFlow InternalError", "an image without pixels"),
    ],
    "EncodeJpegVariableQuality": [
        ("values", "the file is another one, with the same pixels"),
        ("error: InvalidArgumentError, TensorFlow InternalError", "an image without pixels"),
    ],
    "EncodePng": [
        ("values", "the file is another one, with the same pixels"),
        ("error: InvalidArgumentError, TensorFlow InternalError", "an image without pixels"),
    ],
    "EditDistance": [
        (REFUSED, LENIENT + "one pair of sequences"),
        ("error: InvalidArgumentError, TensorFlow InternalError", "an index out of bounds"),
    ],
    "Einsum": [("gradient: NotImplementedError", "the gradient of '...' needs to know ranks")],
    "Erf": [("values", "erf(inf) is 1 (TensorFlow's vectorised half-precision kernel: NaN)")],
    "EuclideanNorm": [(REFUSED, LENIENT + "axis 0 of a scalar of unknown rank")],
    "FusedBatchNorm": [
        (REFUSED, LENIENT + "a scale of one element"),
        ("values", "the reserved outputs hold what Penstock's gradient needs"),
    ],
    "FusedBatchNormV2": [("values", "the reserved outputs hold what Penstock's gradient needs")],
    "FusedBatchNormV3": [("values", "the reserved outputs hold what Penstock's gradient needs")],
    "FusedBatchNormGrad": [(REFUSED, LENIENT + "x of another batch size than the gradient")],
    "FusedBatchNormGradV2": [(REFUSED, LENIENT + "x of another batch size than the gradient")],
    "FusedBatchNormGradV3": [(REFUSED, LENIENT + "x of another batch size than the gradient")],
    "GatherV2": [("gradient: NotImplementedError", "a gradient with batch_dims needs a constant axis and known ranks")],
    "Igamma": [
        ("values", "the series is carried to its end for large arguments (TensorFlow's stops before)"),
        ("gradient", "finite at x = 0 where a is 1 (TensorFlow: NaN)"),
    ],
    "IgammaGradA": [("values", "the series is carried to its end for large arguments (TensorFlow's stops before)")],
    "Igammac": [
        ("values", "the series is carried to its end for large arguments (TensorFlow's stops before)"),
        ("gradient", "finite at x = 0 where a is 1 (TensorFlow: NaN)"),
    ],
    "InvGrad": [("values", ZERO_TIMES_INF)],
    "Lgamma": [("gradient", "at its poles: infinite of the side's sign, as its limit (TensorFlow: NaN)")],
    "ListDiff": [(REFUSED, LENIENT + "matrices, where ranks are unknown until the run")],
    "LogSoftmax": [(REFUSED, LENIENT + "a scalar")],
    "Max": [(REFUSED, LENIENT + "axis 0 of a scalar of unknown rank")],
    "MaxPool": [
        ("gradient", "of no window: the gradient is zero (TensorFlow leaves memory as it was)"),
        ("error: UnimplementedError, TensorFlow a value", "windows over channels are not there"),
        (REFUSED, LENIENT + "an empty image"),
    ],
    "MaxPool3DGrad": [(REFUSED, LENIENT + "an input of another shape than the output's")],
    "MaxPool3DGradGrad": [(REFUSED, LENIENT + "an input of another shape than the output's")],
    "MaxPoolGrad": [(INTEGERS, "gradients of integers are not there")],
    "MaxPoolGradGrad": [
        (REFUSED, LENIENT + "an input of another shape than the output's"),
        (INTEGERS, "gradients of integers are not there"),
    ],
    "MaxPoolGradGradV2": [
        (REFUSED, LENIENT + "an input of another shape than the output's"),
        (INTEGERS, "gradients of integers are not there"),
    ],
    "MaxPoolGradV2": [(INTEGERS, "gradients of integers are not there")],
    "MaxPoolGradWithArgmax": [(INTEGERS, "gradients of integers are not there")],
    "MaxPoolWithArgmax": [
        (INTEGERS, "pooling of integers with their places is not there"),
        (REFUSED, LENIENT + "an empty image"),
    ],
    "Mean": [(REFUSED, LENIENT + "axis 0 of a scalar of unknown rank")],
    "Min": [(REFUSED, LENIENT + "axis 0 of a scalar of unknown rank")],
    "MirrorPad": [(REFUSED, LENIENT + "a REFLECT of no rows along an empty axis")],
    "MirrorPadGrad": [(REFUSED, LENIENT + "a REFLECT of no rows along an empty axis")],
    "Polygamma": [("values", "at its poles: infinite of the side's sign, as its limit (TensorFlow: NaN)")],
    "QuantizeAndDequantizeV2": [
        (REFUSED, LENIENT + "a range for each index of the axis (2.21's kernel takes scalars only)")
    ],
    "QuantizeDownAndShrinkRange": [("values", "of no values: a range of 0 (TensorFlow: of the type's ends)")],
    "RandomGammaGrad": [("values", "another approximation (equal to 1e-4), and other limits at the ends")],
    "Range": [("shapes", "a step of the wrong sign, or of zero, is refused in the run")],
    "RGBToHSV": [("gradient", "where two channels are equal, the gradient goes to another one of them")],
    "ReciprocalGrad": [("values", ZERO_TIMES_INF)],
    "RealDiv": [("values", "complex division by zero is infinite where the numerator is not zero (TensorFlow: NaN)")],
    "Relu6Grad": [("values", "an infinite gradient outside 0..6 gives 0 (TensorFlow: NaN)")],
    "RequantizationRange": [("values", "of no values: a range of 0 (TensorFlow: of the type's ends)")],
    "ResizeBicubicGrad": [("error: InvalidArgumentError, TensorFlow a value", "of another batch than the image's")],
    "ResizeBilinearGrad": [("error: InvalidArgumentError, TensorFlow a value", "of another batch than the image's")],
    "Reverse": [(REFUSED, LENIENT + "an empty tensor")],
    "IRFFT3D": [("values", "of an empty batch: zero (TensorFlow leaves memory as it was)")],
    "RFFT3D": [("values", "of an empty batch: zero (TensorFlow leaves memory as it was)")],
    "Round": [("values", "integers stay as they are (TensorFlow 2.21's kernel gives 0)")],
    "RsqrtGrad": [("values", ZERO_TIMES_INF)],
    "ScatterNd": [(REFUSED, LENIENT + "no updates for an output without elements")],
    "SelfAdjointEigV2": [
        ("values", "the signs of eigenvectors are free; without compute_v, the second output is empty"),
        ("gradient", "by eigenvectors whose signs are free"),
    ],
    "SeluGrad": [
        (REFUSED, LENIENT + "shapes that broadcast, where they are unknown until the run"),
        ("values", "NaN outputs stay NaN"),
    ],
    "SigmoidGrad": [("values", "half precision is computed in float32 inside, so that nothing overflows on the way")],
    "Softmax": [(REFUSED, LENIENT + "a scalar")],
    "SoftmaxCrossEntropyWithLogits": [
        ("gradient", "the labels' gradient through the second output is there (TensorFlow leaves it out)")
    ],
    "SparseAdd": [("values", "TensorFlow misreads a threshold of another type than the values'")],
    "SparseSegmentMean": [("gradient", "of no row: zero (TensorFlow leaves memory as it was)")],
    "SparseSegmentSqrtN": [("gradient", "of no row: zero (TensorFlow leaves memory as it was)")],
    "SparseSegmentSum": [("gradient", "of no row: zero (TensorFlow leaves memory as it was)")],
    "SqrtGrad": [("values", ZERO_TIMES_INF)],
    "Sum": [(REFUSED, LENIENT + "axis 0 of a scalar of unknown rank")],
    "Svd": [
        ("values", "the signs of singular vectors are free; without compute_uv, the last outputs are empty"),
        ("gradient", "by singular vectors whose signs are free"),
    ],
    "TanhGrad": [("values", "half precision is computed in float32 inside, so that nothing overflows on the way")],
    "TruncateDiv": [("error: InvalidArgumentError, TensorFlow InternalError", "division by zero names the op")],
    "TruncateMod": [("error: InvalidArgumentError, TensorFlow InternalError", "division by zero names the op")],
    "Unique": [("values", "all NaNs count as one value")],
    "UniqueWithCounts": [("values", "all NaNs count as one value")],
    "Xdivy": [("values", "complex division by zero is infinite (TensorFlow: NaN)")],
    "Where": [(REFUSED, LENIENT + "a scalar")],
}
"""For an op, pairs of a regular expression that a difference matches from its start, and the reason."""
