"""`np.issubdtype` of Python's numbers, which stood for their kinds until NumPy 1.20."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from penstock.programs.places import is_of_program
from penstock.programs.report import REPORT


def of_kinds(issubdtype: Callable[[Any, Any], bool], numpy: Any) -> Callable[[Any, Any], bool]:
    """`issubdtype`, to which `float` is any floating number, `int` any signed integer and `complex` any complex number.

    So they are where a program calls it; libraries of today mean float64, int64 and complex128.
    """
    kinds = {
        name: kind
        for of, kind in ((float, numpy.floating), (int, numpy.signedinteger), (complex, numpy.complexfloating))
        for name in (of, of.__name__)
    }

    @functools.wraps(issubdtype)
    def asking(arg1: Any, arg2: Any) -> bool:
        kind = kinds.get(arg2) if isinstance(arg2, type | str) else None
        if kind is None or not is_of_program(sys._getframe(1).f_code.co_filename):
            return issubdtype(arg1, arg2)
        REPORT.use(f"np.issubdtype of {getattr(arg2, '__name__', arg2)}", sys._getframe(1))
        return issubdtype(arg1, kind)

    return asking
