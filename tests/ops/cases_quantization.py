"""Cases of fake quantisation, rounding to few bits, and quantized types. References: NumPy, and numbers by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import InvalidArgumentError
from penstock.tensor.dtypes import DType, bfloat16, qint8, qint16, qint32, quint8, quint16
from tests.ops.harness import OpCase

F = np.float32
X = np.array([[-7, -0.26, -0.24, 0], [0.1, 0.3, 0.74, 9]], F)
G = np.arange(1, 9, dtype=F).reshape(2, 4)


def q(values: Any, dtype: DType) -> np.ndarray:
    """An array of a quantized type."""
    return np.array(values).astype(dtype.np[0]).view(dtype.np)


def nudged(low: float, high: float, bits: int = 8, narrow: bool = False) -> tuple[float, float, float]:
    """The ends of the range, moved so that zero is a step, and the step."""
    first, last = int(narrow), 2**bits - 1
    scale = (high - low) / (last - first)
    zero = np.floor(np.clip(first - low / scale, first, last) + 0.5)
    return (first - zero) * scale, (last - zero) * scale, scale


def fake(x: np.ndarray, low: float, high: float, bits: int = 8, narrow: bool = False) -> np.ndarray:
    low, high, scale = nudged(low, high, bits, narrow)
    return (np.floor((np.clip(x, low, high) - low) / scale + 0.5) * scale + low).astype(F)


def fake_gradient(g: np.ndarray, x: np.ndarray, low: float, high: float, bits: int = 8) -> tuple[Any, Any, Any]:
    low, high, _ = nudged(low, high, bits)
    return np.where((x >= low) & (x <= high), g, 0), F(g[x < low].sum()), F(g[x > high].sum())


LOW, HIGH = np.array([-1, 0.5, -3, -2], F), np.array([1, 2, -1, 9], F)

FAKE = [
    OpCase("FakeQuantWithMinMaxArgs", [X], ref=lambda x: fake(x, -6, 6), grad=False),
    OpCase("FakeQuantWithMinMaxArgs", [X], {"min": -1.0, "max": 2.3, "num_bits": 4},
           lambda x: fake(x, -1, 2.3, 4), False),
    OpCase("FakeQuantWithMinMaxArgs", [X], {"min": -0.5, "max": 0.5, "num_bits": 2, "narrow_range": True},
           lambda x: fake(x, -0.5, 0.5, 2, True), False),
    OpCase("FakeQuantWithMinMaxArgs", [X], {"min": 1.0, "max": 2.0},
           np.array([[0, 0, 0, 0], [25, 77, 189, 255]], F) / 255, False, note="0.1 is a tie, of which 1.15 makes 25"),
    OpCase("FakeQuantWithMinMaxArgs", [X], {"min": 2.0, "max": 2.0}, raises=InvalidArgumentError, match="smaller"),
    OpCase("FakeQuantWithMinMaxArgs", [X], {"num_bits": 1}, raises=InvalidArgumentError, match="num_bits"),
    OpCase("FakeQuantWithMinMaxArgsGradient", [G, X], ref=lambda g, x: fake_gradient(g, x, -6, 6)[0]),
    OpCase("FakeQuantWithMinMaxArgsGradient", [G, X], {"min": -0.25, "max": 0.3, "num_bits": 3},
           lambda g, x: fake_gradient(g, x, -0.25, 0.3, 3)[0]),
    OpCase("FakeQuantWithMinMaxArgsGradient", [G, X[:, :3]], raises=ValueError),
    OpCase("FakeQuantWithMinMaxVars", [X, F(-1), F(2.3)], ref=lambda x, a, b: fake(x, -1, 2.3), grad=False),
    OpCase("FakeQuantWithMinMaxVars", [X, F(-5), F(-1)], {"num_bits": 5}, lambda x, a, b: fake(x, -5, -1, 5), False),
    OpCase("FakeQuantWithMinMaxVars", [F([-0.3, 0, 0.37]), F(-1.7640524), F(2.2408931)],
           ref=F([-0.29840779, 0, 0.37693608]), grad=False, note="values of TensorFlow 1.15"),
    OpCase("FakeQuantWithMinMaxVars", [X, F(0), F(0)], ref=np.zeros_like(X), grad=False, note="no range"),
    OpCase("FakeQuantWithMinMaxVars", [X, LOW, HIGH], raises=ValueError),
    OpCase("FakeQuantWithMinMaxVarsGradient", [G, X, F(-1), F(0.5)],
           ref=lambda g, x, a, b: fake_gradient(g, x, -1, 0.5)),
    OpCase("FakeQuantWithMinMaxVarsGradient", [G, X, F(0), F(0)], ref=(G, F(0), F(0)), note="no range"),
    OpCase("FakeQuantWithMinMaxVarsPerChannel", [X, LOW, HIGH], grad=False,
           ref=lambda x, a, b: np.stack([fake(x[:, i], a[i], b[i]) for i in range(4)], 1)),
    OpCase("FakeQuantWithMinMaxVarsPerChannel", [X[0], LOW, HIGH], {"num_bits": 3, "narrow_range": True}, grad=False,
           ref=lambda x, a, b: np.stack([fake(x[i], a[i], b[i], 3, True) for i in range(4)])),
    OpCase("FakeQuantWithMinMaxVarsPerChannel", [X, LOW[:3], HIGH[:3]], raises=ValueError),
    OpCase("FakeQuantWithMinMaxVarsPerChannelGradient", [G, X, LOW, HIGH],
           ref=lambda g, x, a, b: tuple(np.stack(p, -1) for p in zip(
               *(fake_gradient(g[:, i], x[:, i], a[i], b[i]) for i in range(4)), strict=True))),
]  # fmt: skip


def grid(x: np.ndarray, low: float, high: float, first: int, last: int, clip: bool = True) -> np.ndarray:
    """Rounded to the steps around zero that the range needs."""
    scale = min(v for v in (first / low if first * low > 0 else np.inf, last / high if last * high > 0 else np.inf))
    x = np.clip(x, first / scale, last / scale) if clip else x
    return (np.round(x * scale) / scale).astype(F)


V2, V4_GRAD = "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4Grad"
UP, BOTH = np.array([[1, 2, 4], [8, 16, 32]], F), np.array([[-2, -0.6, 0.3], [0.8, 1.7, -0.1]], F)
ENDS = np.array([1, 0.5, 0.2], F)
ROUNDING = [
    OpCase("QuantizeAndDequantize", [X], ref=lambda x: grid(x, -7, 9, -128, 127), grad=False),
    OpCase("QuantizeAndDequantize", [X], {"signed_input": False, "num_bits": 4, "range_given": True, "input_max": 0.5},
           lambda x: grid(x, 0, 0.5, 0, 15), False),
    OpCase(V2, [X, F(0), F(0)], ref=lambda x, a, b: grid(x, -7, 9, -128, 127), grad=False),
    OpCase(V2, [X, F(-1), F(0.5)], {"range_given": True, "num_bits": 3},
           lambda x, a, b: grid(x, -1, 0.5, -4, 3), False),
    OpCase(V2, [X, F(-1), F(0.5)], {"range_given": True, "num_bits": 3, "narrow_range": True},
           lambda x, a, b: grid(x, -1, 0.5, -3, 3), False),
    OpCase(V2, [np.array([0.5, 1.5, 2.5, -0.5], F), F(-8), F(7)], {"range_given": True, "num_bits": 4,
           "round_mode": "HALF_UP"}, np.array([1, 2, 3, 0], F), False),
    OpCase(V2, [np.array([0.5, 1.5, 2.5, -0.5], F), F(-8), F(7)], {"range_given": True, "num_bits": 4},
           np.array([0, 2, 2, 0], F), False),
    OpCase(V2, [X, LOW, np.array([1, 2, 0.5, 9], F)], {"range_given": True, "axis": 1}, grad=False,
           ref=lambda x, a, b: np.stack([grid(x[:, i], a[i], b[i], -128, 127) for i in range(4)], 1)),
    OpCase(V2, [X, F(0), F(0)], {"axis": 0}, raises=ValueError),
    OpCase(V2, [X, np.zeros(2, F), np.zeros(2, F)], {"axis": 0}, grad=False,
           ref=lambda x, a, b: np.stack([grid(row, row.min(), row.max(), -128, 127) for row in x])),
    OpCase(V2, [X, F(2), F(1)], {"range_given": True}, raises=InvalidArgumentError, match="Invalid range"),
    OpCase(V2, [X, F(2), F(1)], {"num_bits": 64}, raises=InvalidArgumentError, match="num_bits"),
    OpCase(V2, [np.zeros(3, F), F(0), F(0)], ref=np.zeros(3, F), grad=False),
    OpCase("QuantizeAndDequantizeV3", [X, F(-1), F(0.5), np.int32(3)], ref=lambda x, a, b, n: grid(x, -1, 0.5, -4, 3),
           grad=False),
    OpCase("QuantizeAndDequantizeV3", [X, F(0), F(0), np.int32(6)], {"range_given": False, "signed_input": False},
           lambda x, a, b, n: grid(x, 0, 9, 0, 63, clip=False), False, note="negative ones stay"),
    OpCase("QuantizeAndDequantizeV3", [X, F(0), F(1), np.int32(0)], raises=InvalidArgumentError, match="num_bits"),
    OpCase("QuantizeAndDequantizeV4", [X, F(-1), F(0.5)], {"range_given": True, "num_bits": 3},
           lambda x, a, b: grid(x, -1, 0.5, -4, 3), False),
    OpCase("QuantizeAndDequantizeV4", [X, LOW, np.array([1, 2, 0.5, 9], F)], {"range_given": True, "axis": 1},
           grad=False, ref=lambda x, a, b: np.stack([grid(x[:, i], a[i], b[i], -128, 127) for i in range(4)], 1)),
    OpCase(V4_GRAD, [UP, BOTH, F(-1), F(1)], ref=(np.array([[0, 2, 4], [8, 0, 32]], F), F(0), F(0)), grad=False),
    OpCase(V4_GRAD, [UP, BOTH, -ENDS, ENDS], {"axis": 1}, grad=False,
           ref=(np.array([[0, 0, 0], [8, 0, 32]], F), np.zeros(3, F), np.zeros(3, F))),
    OpCase(V4_GRAD, [UP, BOTH, -ENDS[:2], ENDS[:2]], {"axis": 0}, grad=False,
           ref=(np.array([[0, 2, 4], [0, 0, 32]], F), np.zeros(2, F), np.zeros(2, F))),
    OpCase(V4_GRAD, [UP, BOTH, F(-1), F(1)], {"axis": 0}, raises=ValueError, match="rank"),
]  # fmt: skip

E = np.array([-3, -1, -0.5, 0, 0.004, 1.2, 2, 5], F)  # of the range [-1, 2] and beyond
COMBINED = {"mode": "MIN_COMBINED"}
FIRST = {"mode": "MIN_FIRST"}
SCALED = {"mode": "SCALED"}


def quantize_case(dtype: DType, want: list[int], low: float, high: float, **attrs: Any) -> OpCase:
    return OpCase("QuantizeV2", [E, F(-1), F(2)], {"T": dtype, **attrs}, (q(want, dtype), F(low), F(high)))


QUANTIZE = [
    # 255 / 3 = 85 steps for 1
    quantize_case(quint8, [0, 0, 43, 85, 85, 187, 255, 255], -1, 2),
    quantize_case(qint8, [-128, -128, -86, -43, -43, 59, 127, 127], -1, 2),
    quantize_case(quint16, [0, 0, 10923, 21845, 21932, 48059, 65535, 65535], -1, 2),
    quantize_case(qint16, [-32768, -32768, -21846, -10923, -10836, 15291, 32767, 32767], -1, 2),
    # 256 / (3 * 256 / 255) = 85 steps for 1, and zero is one of them
    quantize_case(quint8, [0, 0, 42, 85, 85, 187, 255, 255], -1, 2, **FIRST),
    quantize_case(qint8, [-128, -128, -86, -43, -43, 59, 127, 127], -1, 2, **FIRST),
    # 127 / 2 = 63.5 steps for 1
    quantize_case(qint8, [-128, -64, -32, 0, 0, 76, 127, 127], -128 / 63.5, 2, **SCALED),
    quantize_case(qint8, [-127, -64, -32, 0, 0, 76, 127, 127], -2, 2, **SCALED, narrow_range=True),
    quantize_case(quint8, [0, 0, 0, 0, 1, 153, 255, 255], 0, 2, **SCALED),
    OpCase("QuantizeV2", [np.array([0.5, 1.5, 2.5], F), F(-128), F(127)], {"T": qint8, **SCALED},
           (q([1, 2, 3], qint8), F(-128), F(127))),
    OpCase("QuantizeV2", [np.array([0.5, 1.5, 2.5], F), F(-128), F(127)],
           {"T": qint8, **SCALED, "round_mode": "HALF_TO_EVEN"}, (q([0, 2, 2], qint8), F(-128), F(127))),
    OpCase("QuantizeV2", [E, F(3), F(4)], {"T": quint8}, (q([0, 0, 0, 0, 0, 77, 128, 255], quint8), F(0), F(4)),
           note="zero is in the range"),
    OpCase("QuantizeV2", [E, F(0), F(0)], {"T": quint8}, (q([0, 0, 0, 0, 102, 255, 255, 255], quint8), F(0), F(0.01)),
           note="a least width"),
    OpCase("QuantizeV2", [np.stack([E, E]), np.array([-1, 0], F), np.array([2, 255], F)], {"T": quint8, "axis": 0},
           (q([[0, 0, 43, 85, 85, 187, 255, 255], [0, 0, 0, 0, 0, 1, 2, 5]], quint8), np.array([-1, 0], F),
            np.array([2, 255], F))),
    OpCase("QuantizeV2", [np.array([-1, 0, 1], F), F(-1), F(1)], {"T": qint32, **SCALED},
           (q([-(2**31), 0, -(2**31)], qint32), F(-1), F(1)), note="no int32 left"),
    OpCase("QuantizeV2", [E, F(2), F(1)], {"T": quint8}, raises=InvalidArgumentError),
    OpCase("QuantizeV2", [E, F(1), F(2)], {"T": quint8, "round_mode": "HALF_TO_EVEN"}, raises=InvalidArgumentError),
    OpCase("Dequantize", [q([0, 43, 255], quint8), F(-1), F(2)], ref=np.array([-1, 43 / 85 - 1, 2], F)),
    OpCase("Dequantize", [q([-128, 0, 127], qint8), F(-1), F(2)], ref=np.array([-1, 128 / 85 - 1, 2], F)),
    OpCase("Dequantize", [q([-32768, 32767], qint16), F(-1), F(2)], ref=np.array([-1, 2], F)),
    OpCase("Dequantize", [q([0, 1, 65535], quint16), F(0), F(6.5535)], ref=np.array([0, 1e-4, 6.5535], F)),
    OpCase("Dequantize", [q([-(2**31), 0], qint32), F(-1), F(1)], ref=np.array([-1, 0], F)),
    OpCase("Dequantize", [q([0, 85, 255], quint8), F(-1), F(2)], FIRST, np.array([-1, 0, 2], F)),
    OpCase("Dequantize", [q([-128, -43, 127], qint8), F(-1), F(2)], FIRST, np.array([-1, 0, 2], F)),
    OpCase("Dequantize", [q([-127, 0, 64], qint8), F(-1), F(2)], SCALED, np.array([-2, 0, 128 / 127], F)),
    OpCase("Dequantize", [q([0, 255], quint8), F(-1), F(2)], SCALED, np.array([0, 2], F)),
    OpCase("Dequantize", [q([0, 255], quint8), F(0), F(2)], {**SCALED, "dtype": bfloat16},
           np.array([0, 2]).astype(bfloat16.np)),
    OpCase("Dequantize", [q([[0, 255], [0, 255]], quint8), np.array([0, -1], F), np.array([1, 2], F)], {"axis": 1},
           np.array([[0, 2], [0, 2]], F)),
    OpCase("Dequantize", [q([0], quint8), np.zeros(2, F), F(1)], raises=ValueError),
]  # fmt: skip

SUMS = q([-(2**30), 0, 2**20, 2**30], qint32)  # halves of a range around zero
RANGES = [
    OpCase("RequantizationRange", [SUMS, F(-2), F(2)], ref=(F(-1), F(1)), rtol=1e-6),
    OpCase("RequantizationRange", [SUMS[2:], F(-2), F(2)], ref=(F(0), F(1)), rtol=1e-6),
    OpCase("QuantizeDownAndShrinkRange", [SUMS, F(-2), F(2)], {"out_type": quint8},
           (q([0, 128, 128, 255], quint8), F(-1), F(1))),
    OpCase("Requantize", [SUMS, F(-2), F(2), F(-2), F(2)], {"out_type": quint8},
           (q([64, 128, 128, 191], quint8), F(-2), F(2))),
    OpCase("Requantize", [SUMS, F(-2), F(2), F(0), F(0.5)], {"out_type": quint8},
           (q([0, 0, 0, 255], quint8), F(0), F(0.5))),
    OpCase("Requantize", [SUMS, F(-2), F(2), F(0.5), F(1)], {"out_type": quint8}, raises=InvalidArgumentError),
    OpCase("Requantize", [SUMS, F(-2), F(2), F(-0.5), F(-1)], {"out_type": quint8}, raises=InvalidArgumentError),
]  # fmt: skip

CASES: list[OpCase] = [*FAKE, *ROUNDING, *QUANTIZE, *RANGES]
