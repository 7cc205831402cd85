"""Ops of strings: results as TensorFlow documents them; the hashes are those that FarmHash and SipHash give."""

from __future__ import annotations

import base64

import numpy as np

import penstock.strings  # registers the ops
from penstock import errors
from tests.ops.harness import OpCase

assert penstock.strings

BAD = errors.InvalidArgumentError


def s(*texts: object) -> np.ndarray:
    return np.array([t.encode() if isinstance(t, str) else t for t in texts], object)


def i64(*values: object) -> np.ndarray:
    return np.array(values, np.int64)


def i32(*values: object) -> np.ndarray:
    return np.array(values, np.int32)


GRID = np.array([[b"a", b"b"], [b"c", b"d"]], object)
NONE = np.empty((0,), object)
NO_WORDS, NO_PAIRS = np.empty(0, "S1"), np.empty((0, 2), "S1")  # an empty array of objects has no dtype
EMPTY_PAIRS = np.empty((0, 2), np.int64)

JOINS = [
    OpCase("StringJoin", [[s("a", "b"), b"c"]], {"separator": "-"}, s("a-c", "b-c")),
    OpCase("StringJoin", [[b"x", b"y", b"z"]], {}, np.array(b"xyz", object), note="scalars"),
    OpCase("StringJoin", [[GRID, GRID]], {}, np.array([[b"aa", b"bb"], [b"cc", b"dd"]], object)),
    OpCase("StringJoin", [[s("a"), s("b", "c")]], raises=ValueError, match="not compatible"),
    OpCase("ReduceJoin", [GRID, i32(0, 1)], {"separator": "."}, np.array(b"a.c.b.d", object)),
    OpCase("ReduceJoin", [GRID, i32(1, 0)], {"separator": "."}, np.array(b"a.b.c.d", object)),
    OpCase("ReduceJoin", [GRID, np.int32(-1)], {"keep_dims": True}, np.array([[b"ab"], [b"cd"]], object)),
    OpCase("ReduceJoin", [GRID, np.zeros(0, np.int32)], {}, GRID, note="no axis"),
    OpCase("ReduceJoin", [NO_PAIRS, i32(0)], {}, s(b"", b""), note="nothing to join"),
    OpCase("ReduceJoin", [GRID, i32(0, 0)], raises=BAD, match="Duplicate"),
    OpCase("ReduceJoin", [GRID, i32(2)], raises=ValueError, match="Invalid reduction dimension 2"),
    OpCase("UnsortedSegmentJoin", [s("a", "b", "c"), i32(2, 0, 2), np.int32(3)], {"separator": "+"},
           s("b", "", "a+c")),
    OpCase("UnsortedSegmentJoin", [s("a"), i32(-1), np.int32(2)], raises=BAD, match="segment id -1 is out of range"),
    OpCase("UnsortedSegmentJoin", [GRID, i64(1, 1), np.int64(2)], {}, np.array([[b"", b""], [b"ac", b"bd"]], object)),
    OpCase("UnsortedSegmentJoin", [GRID, i32([1, 0], [1, 1]), np.int32(2)], {"separator": "/"}, s("b", "a/c/d")),
    OpCase("UnsortedSegmentJoin", [s("a"), i32(3), np.int32(2)], raises=BAD, match="out of range"),
]  # fmt: skip

SPLITS = [
    OpCase(
        "StringSplit",
        [s("a b,c", "", "  x "), b" ,"],
        {"skip_empty": False},
        (i64([0, 0], [0, 1], [0, 2], [2, 0], [2, 1], [2, 2], [2, 3]), s("a", "b", "c", "", "", "x", ""), i64(3, 4)),
    ),
    OpCase("StringSplit", [s(" x  y"), b" "], {}, (i64([0, 0], [0, 1]), s("x", "y"), i64(1, 2))),
    OpCase("StringSplit", [s("ab", ""), b""], {}, (i64([0, 0], [0, 1]), s("a", "b"), i64(2, 2)), note="bytes"),
    OpCase("StringSplit", [NO_WORDS, b" "], {}, (EMPTY_PAIRS, NONE, i64(0, 0)), note="empty"),
    OpCase("StringSplit", [b"ab", b" "], raises=ValueError, match="rank"),
    OpCase(
        "StringSplitV2",
        [s(" a  b c ", "", " "), b""],
        {"maxsplit": 1},
        (i64([0, 0], [0, 1]), s("a", "b c "), i64(3, 2)),
    ),
    OpCase(
        "StringSplitV2",
        [s("a<>b<><>c", "", "<>"), b"<>"],
        {},
        (i64([0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [2, 0], [2, 1]), s("a", "b", "", "c", "", "", ""), i64(3, 4)),
    ),
    OpCase("StringSplitV2", [s(" a"), b""], {"maxsplit": 0}, (i64([0, 0]), s(" a"), i64(1, 1)), note="no split"),
]

CHARS = {"unit": "UTF8_CHAR"}
CUTS = [
    OpCase("Substr", [s("abc", "xyz"), i32(1, -2), i32(1, 5)], {}, s("b", "yz")),
    OpCase("Substr", [s("abc", "d"), np.int64(1), np.int64(-1)], {}, s("bc", ""), note="a negative length"),
    OpCase(
        "Substr",
        [np.array([[b"abc"], [b"def"]], object), i32(0, 1), i32(1, 2)],
        {},
        np.array([[b"a", b"bc"], [b"d", b"ef"]], object),
        note="broadcasting",
    ),
    OpCase("Substr", [s("häé", "xyz"), i32(-2, -1), i32(1, 1)], CHARS, s("ä", "z")),
    OpCase("Substr", [s("abc"), i32(4), i32(1)], raises=BAD, match="pos 4 out of range"),
    OpCase("Substr", [s("häé"), i32(-4), i32(1)], CHARS, raises=BAD, match="pos -4 out of range"),
    OpCase("Substr", [b"abc", i32(0, 1), np.int32(1)], raises=ValueError, match="not compatible"),
    OpCase("StringStrip", [s(" \t\n\v\f a b \r", "x\x1c", "")], {}, s("a b", "x\x1c", "")),
    OpCase("StringLength", [s("hä", "", "é")], {}, i32(3, 0, 2)),
    OpCase("StringLength", [s("hä", "", "é")], CHARS, i32(2, 0, 1)),
    OpCase("StringLower", [s("HÄ")], {}, s("hÄ")),
    OpCase("StringLower", [s("HÄ")], {"encoding": "utf-8"}, s("hä")),
    OpCase("StringUpper", [s("hä")], {}, s("Hä")),
    OpCase("StringUpper", [s("hä")], {"encoding": "utf-8"}, s("HÄ")),
    OpCase("StringUpper", [s("x")], {"encoding": "latin1"}, raises=BAD, match="latin1"),
]

TEXT = np.array(b"abxd1a\n", object)


def replaced(pattern: str, rewrite: str, result: str, text: np.ndarray = TEXT, **attrs: object) -> list[OpCase]:
    """The same by inputs and by attributes."""
    found, static = np.array(result.encode(), object), {"pattern": pattern, "rewrite": rewrite, **attrs}
    return [
        OpCase("RegexReplace", [text, pattern.encode(), rewrite.encode()], dict(attrs), found, note=pattern),
        OpCase("StaticRegexReplace", [text], static, found),
    ]


PATTERNS = [
    *replaced("x*", "-", "-a-b-d-1-a-\n-"),
    *replaced("|a", "-", "-a-b-x-d-1-a-\n-"),
    *replaced("^a", "-", "-bxd1a\n"),
    *replaced("a$", "-", "abxd1a\n"),
    *replaced("(?m)a$", "-", "abxd1-\n"),
    *replaced("[[:digit:]a]+", "-", "-bxd-\n"),
    *replaced("[^]ab]", "-", "ab--" + "-a-"),
    *replaced("a", "<\\0>", "<a>bxd1a\n", replace_global=False),
    *replaced(r"(a)(c)?", r"\2\1\\", "a\\bxd1a\\\n"),
    *replaced("(a)", r"\2", "abxd1a\n"),
    *replaced("ä.", "-", "-a", np.array("äöa".encode(), object)),
    *replaced(r"\Q.*\E", "-", "a-", np.array(b"a.*", object)),
    OpCase("RegexReplace", [TEXT, b"a(?=b)", b""], raises=BAD, match="Invalid pattern"),
    OpCase("StaticRegexReplace", [TEXT], {"pattern": "(", "rewrite": ""}, raises=BAD, match="Invalid pattern"),
    OpCase("RegexFullMatch", [s("ab", "abc", "ab\n", "b"), b"a|ab"], {}, np.array([True, False, False, False])),
    OpCase("StaticRegexFullMatch", [s("ab", "abc")], {"pattern": "a.*c$"}, np.array([False, True])),
    OpCase("RegexFullMatch", [s("a"), b"a**"], raises=BAD, match="Invalid pattern"),
]

# What FarmHash's Fingerprint64, SipHash-2-4 and MurmurHash64A give, modulo 2**63 - 1: one text for each branch.
TEXTS = s(b"", b"a", b"abcd", b"abcdefgh", b"hello world, 17+by", bytes(range(33)), bytes(range(64)), bytes(range(65)),
          bytes(range(128)), bytes(range(200)))  # fmt: skip
FARM = i64(1936946117179621456, 3694432073954588132, 1897425971756105985, 9145071594317031690, 266048083151746742,
           7527044130840859215, 8468179876952591436, 5089956174350597567, 2037963038260878803,
           525935771297148851)  # fmt: skip
SIP = i64(2485238625977559269, 7521539883709581439, 1125934538736109777, 5907206438223968598, 311542895477627255,
          3671779694425636589, 4777151804295393020, 9107250633784378949, 8877900049574076623,
          7919275069563247219)  # fmt: skip
KEY = {"num_buckets": 2**63 - 1, "key": [123456789, -5]}
HASHES = [
    OpCase("StringToHashBucketFast", [TEXTS], {"num_buckets": 2**63 - 1}, FARM),
    OpCase("StringToHashBucketFast", [np.array(b"a", object)], {"num_buckets": 1}, np.int64(0)),
    OpCase("StringToHashBucketStrong", [TEXTS], KEY, SIP),
    OpCase("StringToHashBucketStrong", [TEXTS], {"num_buckets": 3, "key": [1]}, raises=BAD, match="2 elements"),
    OpCase(
        "StringToHashBucket",
        [s(b"", b"a", b"abcdefg", b"abcdefgh", b"hello world, 17+by", b"\xff" * 7)],
        {"num_buckets": 2**63 - 1},
        i64(105434511174508092, 2996632905371535868, 2960345911509200449, 3429851175771700306, 8794373249864624732,
            2747022491446093653),
    ),
]  # fmt: skip

PRINTS = [[42, 171, 211, 87, 251, 146, 121, 4], [156, 206, 45, 21, 1, 1, 236, 37]]
METHOD = np.array(b"farmhash64", object)
FINGERPRINTS = [
    OpCase("Fingerprint", [np.float32([1, 2]), METHOD], {}, np.uint8(PRINTS)),
    OpCase("Fingerprint", [np.float32([[[1]], [[2]]]), METHOD], {}, np.uint8(PRINTS), note="a block for each row"),
    OpCase("Fingerprint", [s("abcd"), METHOD], {}, np.uint8([list((1897425971756105985).to_bytes(8, "little"))])),
    OpCase("Fingerprint", [GRID, METHOD], {}, np.uint8([[122, 64, 59, 169, 136, 60, 55, 83],
                                                        [52, 252, 224, 38, 64, 226, 155, 60]])),
    OpCase("Fingerprint", [np.zeros((0, 3)), METHOD], {}, np.zeros((0, 8), np.uint8), note="no row"),
    OpCase("Fingerprint", [s("a"), np.array(b"md5", object)], raises=BAD, match="Unsupported fingerprint method"),
    OpCase("Fingerprint", [np.float32(1), METHOD], raises=ValueError, match="at least one dimension"),
]  # fmt: skip

READS = s("1", " 1.5 ", "1e3", "-inf", "nan", "0x10", "1e400", "+2", ".5", "5.")
READ = [1, 1.5, 1e3, -np.inf, np.nan, 16, np.inf, 2, 0.5, 5]
CONVERSIONS = [
    OpCase("StringToNumber", [READS], {}, np.array(READ, np.float32)),
    OpCase("StringToNumber", [READS], {"out_type": np.float64}, np.array(READ)),
    OpCase("StringToNumber", [s("1", " 7 ", "+3", "-2")], {"out_type": np.int32}, i32(1, 7, 3, -2)),
    OpCase("StringToNumber", [s(str(2**64 - 1))], {"out_type": np.uint64}, np.array([2**64 - 1], np.uint64)),
    *(
        OpCase("StringToNumber", [s(text)], {"out_type": kind}, raises=BAD, match="could not correctly convert")
        for text, kind in [("", np.float32), ("1_0", np.float32), ("1.5f", np.float32), ("2147483648", np.int32),
                           ("1.0", np.int32), ("-2", np.uint32)]
    ),
    OpCase("AsString", [np.array([1.5, np.nan, -np.inf], np.float32)], {}, s("1.500000", "nan", "-inf")),
    OpCase("AsString", [np.float32([1.5, 1e10])], {"precision": 2, "width": 8, "fill": "0"},
           s("00001.50", "10000000000.00")),
    OpCase("AsString", [np.array([1.5, 1e-10])], {"scientific": True}, s("1.500000e+00", "1.000000e-10")),
    OpCase("AsString", [np.array([1.5, 1e-10])], {"shortest": True, "width": 7, "fill": "-"}, s("1.5    ", "1e-10  ")),
    OpCase("AsString", [np.array([1.1], np.float16)], {}, s("1.099609")),
    OpCase("AsString", [i32(1, -2)], {"width": 4, "fill": "0"}, s("0001", "-002")),
    OpCase("AsString", [np.array([200], np.uint8)], {"width": 5}, s("  200")),
    OpCase("AsString", [np.array([2**64 - 1], np.uint64)], {}, s(str(2**64 - 1))),
    OpCase("AsString", [np.array([1 + 2j], np.complex64)], {"precision": 1, "width": 5}, s("(  1.0,  2.0)")),
    OpCase("AsString", [np.array([True, False])], {"width": 6}, s("true", "false")),
    OpCase("AsString", [s("ab")], {"width": 4, "fill": "-"}, s("ab  ")),
    OpCase("AsString", [i32(1)], {"precision": 2}, raises=BAD, match="precision not supported"),
    OpCase("AsString", [i32(1)], {"fill": "x"}, raises=BAD, match="Fill argument"),
    OpCase("EncodeBase64", [s("a", "ab", b"\xff\xfe\xfb", b"")], {"pad": True}, s("YQ==", "YWI=", "__77", "")),
    OpCase("EncodeBase64", [s("a", "ab")], {}, s("YQ", "YWI")),
    OpCase("DecodeBase64", [s("YQ", "YQ==", "YWI", "_-_7")], {}, s("a", "a", "ab", base64.b64decode(b"/+/7"))),
    *(OpCase("DecodeBase64", [s(text)], raises=BAD) for text in ("a+b/", "Y", "Y Q", "YQ=", "YQ===")),
    OpCase(
        "StringFormat",
        [[np.arange(10), b"s", np.float32([1.5]), s("x", "y"), np.array(True), i32([1, 2], [3, 4])]],
        {"template": "a {} {} {} {} {} {}", "placeholder": "{}"},
        np.array(b'a [0 1 2 ... 7 8 9] "s" [1.5] ["x" "y"] 1 [[1 2]\n [3 4]]', object),
    ),
    OpCase("StringFormat", [[np.arange(3)]], {"template": "x", "placeholder": "{}"}, raises=BAD, match="0 vs. 1"),
]  # fmt: skip

CASES = [*JOINS, *SPLITS, *CUTS, *PATTERNS, *HASHES, *FINGERPRINTS, *CONVERSIONS]
