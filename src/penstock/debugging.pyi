# Written by `python -m penstock.api.generate`.
from penstock.ops.checks import assert_equal as assert_equal
from penstock.ops.checks import assert_greater as assert_greater
from penstock.ops.checks import assert_greater_equal as assert_greater_equal
from penstock.ops.checks import assert_less as assert_less
from penstock.ops.checks import assert_less_equal as assert_less_equal
from penstock.ops.checks import assert_near as assert_near
from penstock.ops.checks import assert_negative as assert_negative
from penstock.ops.checks import assert_non_negative as assert_non_negative
from penstock.ops.checks import assert_non_positive as assert_non_positive
from penstock.ops.checks import assert_none_equal as assert_none_equal
from penstock.ops.checks import assert_positive as assert_positive
from penstock.ops.logging import Assert as Assert
from penstock.ops.passing import verify_tensor_all_finite as assert_all_finite
from penstock.ops.passing import check_numerics as check_numerics
from penstock.ops.rounding import is_finite as is_finite
from penstock.ops.rounding import is_inf as is_inf
from penstock.ops.rounding import is_nan as is_nan
from penstock.ops.shape_checks import assert_integer as assert_integer
from penstock.ops.shape_checks import assert_proper_iterable as assert_proper_iterable
from penstock.ops.shape_checks import assert_rank as assert_rank
from penstock.ops.shape_checks import assert_rank_at_least as assert_rank_at_least
from penstock.ops.shape_checks import assert_rank_in as assert_rank_in
from penstock.ops.shape_checks import assert_same_float_dtype as assert_same_float_dtype
from penstock.ops.shape_checks import assert_scalar as assert_scalar
from penstock.ops.shape_checks import assert_type as assert_type
from penstock.ops.shape_checks import is_non_decreasing as is_non_decreasing
from penstock.ops.shape_checks import is_numeric_tensor as is_numeric_tensor
from penstock.ops.shape_checks import is_strictly_increasing as is_strictly_increasing
from penstock.ops.shape_relations import assert_shapes as assert_shapes

__all__ = [
    "assert_equal", "assert_greater", "assert_greater_equal", "assert_less", "assert_less_equal", "assert_near",
    "assert_negative", "assert_non_negative", "assert_non_positive", "assert_none_equal", "assert_positive", "Assert",
    "assert_all_finite", "check_numerics", "is_finite", "is_inf", "is_nan", "assert_integer", "assert_proper_iterable",
    "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype", "assert_scalar", "assert_type",
    "is_non_decreasing", "is_numeric_tensor", "is_strictly_increasing", "assert_shapes"
]
