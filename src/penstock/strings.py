"""Operations on strings (TF: tf.strings): each is written where its op is, and listed here."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.ops.string_conversions import as_string as as_string, string_to_number as to_number
from penstock.ops.string_format import string_format as format
from penstock.ops.string_hashing import (
    string_to_hash_bucket as to_hash_bucket,
    string_to_hash_bucket_fast as to_hash_bucket_fast,
    string_to_hash_bucket_strong as to_hash_bucket_strong,
)
from penstock.ops.string_joining import (
    reduce_join as reduce_join,
    string_join as join,
    unsorted_segment_join as unsorted_segment_join,
)
from penstock.ops.string_patterns import regex_full_match as regex_full_match, regex_replace as regex_replace
from penstock.ops.string_splitting import string_split_v2 as split
from penstock.ops.strings import (
    string_length as length,
    string_lower as lower,
    string_strip as strip,
    string_upper as upper,
    substr as substr,
)

__all__ = [
    "as_string",
    "format",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unsorted_segment_join",
    "upper",
]

_absent.tell_in(__name__)
