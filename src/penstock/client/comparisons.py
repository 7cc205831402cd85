"""Comparisons of values, dtypes, devices and messages in tests (TF: tf.test.TestCase)."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from absl.testing import absltest

from penstock.errors import OpError
from penstock.graph.device_spec import DeviceSpec
from penstock.graph.operation import Tensor


class Comparisons(absltest.TestCase):
    """absl's test case, which TensorFlow's is, with comparisons of arrays. Tensors are compared by their values."""

    def evaluate(self, tensors: Any) -> Any:
        """The value of `tensors`."""
        raise NotImplementedError

    def _array(self, value: Any) -> np.ndarray:
        if isinstance(value, list | tuple):
            value = [self._array(each) if isinstance(each, Tensor) else each for each in value]
        return np.asarray(self.evaluate(value) if isinstance(value, Tensor) else value)

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Same shape, and every element equal."""
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, msg)
        np.testing.assert_array_equal(a, b, msg or "")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Some element differs, or the shape does."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertAllEqual(a, b)

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Same shape, and |a - b| <= atol + rtol |b|; dicts, named tuples and lists of arrays element-wise.

        Raises ValueError if just one of two is a dict, or lists have different lengths.
        """
        a, b = (each._asdict() if hasattr(each, "_asdict") else each for each in (a, b))
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(f"Can't compare dict to non-dict, {a!r} vs {b!r}. {msg or ''}")
        if isinstance(a, Mapping):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
        elif isinstance(a, list | tuple) and not self._is_array(a):
            if len(a) != len(b):
                raise ValueError(f"Mismatched length: a has {len(a)} items, but b has {len(b)} items. {msg or ''}")
            for x, y in zip(a, b, strict=True):
                self.assertAllClose(x, y, rtol, atol, msg)
        else:
            a, b = self._array(a), self._array(b)
            self.assertEqual(a.shape, b.shape, msg)
            np.testing.assert_allclose(a, b, rtol, atol, err_msg=msg or "")

    def _is_array(self, values: Any) -> bool:
        """Whether a list has the structure, and the numbers, of an array."""
        try:
            return self._array(values).dtype != object
        except (ValueError, TypeError):
            return False

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """`assertAllClose` fails."""
        with self.assertRaises(AssertionError):
            self.assertAllClose(a, b, **kwargs)

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """`assertAllClose`, with larger tolerances for the lower precision of the two arrays."""
        a, b = self._array(a), self._array(b)
        tolerances = {
            "float32": (float_rtol, float_atol),
            "float16": (half_rtol, half_atol),
            "bfloat16": (bfloat16_rtol, bfloat16_atol),
        }
        for dtype in {a.dtype.name, b.dtype.name} & tolerances.keys():
            rtol, atol = max(rtol, tolerances[dtype][0]), max(atol, tolerances[dtype][1])
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """|f1 - f2| <= err."""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, msg or f"{f1} is not within {err} of {f2}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        """`assertNear` for each pair of elements."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        """The norm of the difference is less than `err`."""
        self.assertLess(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2)), err, msg)

    # --- each element of an array -------------------------------------------------------------------------

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        self.assertGreater(np.min(self._array(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        self.assertLess(np.max(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertGreaterEqual(np.min(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        self.assertLessEqual(np.max(self._array(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Numbers, none of them NaN, between two bounds, which are in the range unless they are open."""
        values = self._array(target)
        self.assertIn(values.dtype.kind, "fiu", f"{values.dtype} has no order")
        above = values > lower_bound if open_lower_bound else values >= lower_bound
        below = values < upper_bound if open_upper_bound else values <= upper_bound
        outside = np.argwhere(~(above & below))
        bounds = f"{'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}{')' if open_upper_bound else ']'}"
        shown = [f"{tuple(place.tolist())}: {values[tuple(place)]}" for place in outside[:10]]
        self.assertFalse(shown, f"{len(outside)} of {values.size} elements are outside the range {bounds}: {shown}")

    def assertAllInSet(self, target: Any, expected_set: Collection[Any]) -> None:
        other = np.setdiff1d(self._array(target), list(expected_set))
        self.assertFalse(other.size, f"{other.size} unique elements are not in the set {expected_set}: {other}")

    # --- dtypes, shapes, devices, messages ------------------------------------------------------------------

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """The array, or each of a list, has that dtype."""
        for value in target if isinstance(target, list) else [target]:
            self.assertEqual(self._array(value).dtype, expected_dtype)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Both names, or DeviceSpecs, mean the same device."""
        one, other = (
            device if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device or "")
            for device in (device1, device2)
        )
        self.assertEqual(one.to_string(), other.to_string(), msg)

    def assertShapeEqual(self, np_array: np.ndarray, tf_tensor: Tensor, msg: str | None = None) -> None:
        """The tensor's static shape is the array's."""
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list(), msg)

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None) -> None:
        """Equal messages; the expected one may be in text format."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            from google.protobuf import text_format

            expected = text_format.Parse(expected, type(message)())
        self.assertEqual(expected, message, msg)

    def assertProtoEqualsVersion(
        self, expected: str, actual: Any, producer: int = 134, min_consumer: int = 0, msg: str | None = None
    ) -> None:
        """`assertProtoEquals` of a graph with these versions (by default those of TensorFlow 1.15)."""
        versions = f"versions {{ producer: {producer} min_consumer: {min_consumer} }};"
        self.assertProtoEquals(f"{versions}\n{expected}", actual, msg)

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """The block raises an OpError whose message matches."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """The block raises `exception_type`, and its message matches the pattern (or the function of the error)."""
        expected = expected_err_re_or_predicate
        with self.assertRaises(exception_type) as caught:
            yield
        if callable(expected):
            self.assertTrue(expected(caught.exception), f"unexpected error: {caught.exception}")
        else:
            self.assertRegex(str(caught.exception), expected)
