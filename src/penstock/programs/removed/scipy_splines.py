"""Curves and surfaces through points that SciPy has removed: `spline` (1.3) and `interp2d` (1.14)."""

from __future__ import annotations

from typing import Any

_KINDS = {"linear": 1, "cubic": 3, "quintic": 5}


def spline(xk: Any, yk: Any, xnew: Any, order: int = 3, kind: str = "smoothest", conds: Any = None) -> Any:
    """The spline through the points (`xk`, `yk`) at `xnew`, 0 outside: until SciPy 1.3.

    `xk` [points] rises, `yk` [points, ...] and `xnew` are of any shape; gives [*xnew, ...], float64. Of the splines of
    that order with knots at `xk` that pass through the points it is the one whose highest derivative jumps least
    (least squares). Raises NotImplementedError for another `kind`.
    """
    import numpy as np
    from scipy.interpolate import BSpline

    if kind != "smoothest":
        raise NotImplementedError(f"scipy.interpolate.spline is made with kind='smoothest', and not with {kind!r}")
    x, y, at = np.asarray(xk, float), np.asarray(yk, float), np.asarray(xnew, float)
    inside = (at >= x[0]) & (at <= x[-1])
    rows = y.reshape(len(x), -1)
    if order == 0:
        values = rows[np.clip(np.searchsorted(x, at, "right") - 1, 0, len(x) - 2)]
    else:
        knots = np.r_[[x[0]] * order, x, [x[-1]] * order]
        values = BSpline(knots, _smoothest(knots, x, rows, order), order)(at)
    return np.where(inside[..., None], values, 0.0).reshape(at.shape + y.shape[1:])


def _smoothest(knots: Any, x: Any, y: Any, order: int) -> Any:
    """Coefficients [points + order - 1, columns]: those through the points, then what they leave free."""
    import numpy as np
    from scipy.interpolate import BSpline
    from scipy.linalg import null_space

    basis = BSpline(knots, np.eye(len(x) + order - 1), order)
    through = basis(x)
    coefficients = np.linalg.lstsq(through, y, rcond=None)[0]
    free = null_space(through)
    if free.size:
        jumps = np.diff(basis.derivative(order)((x[1:] + x[:-1]) / 2), axis=0)
        coefficients -= free @ np.linalg.lstsq(jumps @ free, jumps @ coefficients, rcond=None)[0]
    return coefficients


class interp2d:
    """A surface through heights `z`, on a grid or at points: until SciPy 1.14.

    z: [len(y), len(x)], or the columns of that in a row, or a height for each pair of `x` and `y`. kind:
    "linear", "cubic" or "quintic". Outside, the border's heights go on, unless `fill_value` or `bounds_error` is given.
    Raises ValueError for other kinds, and for lengths that do not go together.
    """

    def __init__(
        self, x: Any, y: Any, z: Any, kind: str = "linear", copy: bool = True, bounds_error: bool = False,
        fill_value: Any = None,
    ):  # fmt: skip
        import numpy as np
        from scipy.interpolate import RectBivariateSpline, bisplrep

        if kind not in _KINDS:
            raise ValueError("Unsupported interpolation type.")
        degree, x, y, z = _KINDS[kind], np.ravel(x), np.ravel(y), np.asarray(z)
        if z.size == len(x) * len(y):
            if z.ndim == 2 and z.shape != (len(y), len(x)):
                raise ValueError(f"z must be of shape {(len(y), len(x))} on a grid, and is {z.shape}")
            if z.ndim == 1:  # column after column
                z = z.reshape(len(x), len(y)).T
            across, down = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
            x, y, z = x[across], y[down], z[down][:, across]
            tx, ty, c = RectBivariateSpline(x, y, z.T, kx=degree, ky=degree, s=0.0).tck
            self.tck = (tx, ty, c, degree, degree)
        elif len(x) != len(y):
            raise ValueError("x and y must have equal lengths for non rectangular grid")
        elif z.size != len(x):
            raise ValueError("Invalid length for input z for non rectangular grid")
        else:
            z = np.ravel(z)
            self.tck = bisplrep(x, y, z, kx=degree, ky=degree, s=0.0)
        self.x, self.y, self.z, self.bounds_error, self.fill_value = x, y, z, bounds_error, fill_value
        self.x_min, self.x_max, self.y_min, self.y_max = x.min(), x.max(), y.min(), y.max()

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, assume_sorted: bool = False) -> Any:
        """Heights [len(y), len(x)] (one `y`: [len(x)]) above the grid of `x` and `y`, which are sorted first."""
        import numpy as np
        from scipy.interpolate import bisplev

        x, y = np.atleast_1d(x), np.atleast_1d(y)
        if x.ndim != 1 or y.ndim != 1:
            raise ValueError("x and y should both be 1-D arrays")
        if not assume_sorted:
            x, y = np.sort(x), np.sort(y)
        right, above = (x < self.x_min) | (x > self.x_max), (y < self.y_min) | (y > self.y_max)
        if self.bounds_error and (right.any() or above.any()):
            raise ValueError(
                f"Values out of range; x must be in {(self.x_min, self.x_max)!r}, y in {(self.y_min, self.y_max)!r}"
            )
        heights = np.atleast_2d(np.reshape(bisplev(x, y, self.tck, dx, dy), (len(x), len(y)))).T
        if self.fill_value is not None:
            heights[:, right] = self.fill_value
            heights[above, :] = self.fill_value
        return heights[0] if len(heights) == 1 else heights
