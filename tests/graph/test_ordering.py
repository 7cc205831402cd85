"""Items after those that must come before them."""

from __future__ import annotations

from penstock.graph.ordering import in_order


def test_items_follow_what_comes_before_them_and_else_stay_where_they_are() -> None:
    assert in_order("abcde", {"a": "d", "e": "b"}) == [*"bcdae"]
    assert in_order("abc", {}) == [*"abc"]


def test_what_is_no_item_keeps_none_back_and_twice_is_once() -> None:
    assert in_order("ab", {"a": "xbb"}) == [*"ba"]


def test_what_waits_for_itself_is_left_out() -> None:
    assert in_order("abcd", {"b": "c", "c": "b", "d": "c"}) == ["a"]
