"""Levels of things that come after each other: as low as can be, then lifted to those that take them."""

from __future__ import annotations

from penstock.analysis.levels import find_levels, lift_levels

SOURCES = {"x": [], "y": [], "cut": [("x", 1)], "z": [("cut", 0), ("y", 0)], "w": [("cut", 0)]}


def test_a_level_is_as_low_as_what_comes_before_lets_it_be() -> None:
    r"""x --1--> cut --> z <-- y
    \--> w"""
    assert find_levels(SOURCES) == {"x": 0, "y": 0, "cut": 1, "z": 1, "w": 1}


def test_levels_do_not_depend_on_the_order_of_what_is_given() -> None:
    backwards = dict(reversed(SOURCES.items()))
    assert find_levels(backwards) == find_levels(SOURCES)


def test_only_what_may_rise_is_lifted_to_what_takes_it() -> None:
    levels = find_levels(SOURCES)
    lift_levels(levels, SOURCES, lambda name: name != "y")
    assert levels == find_levels(SOURCES)
    lift_levels(levels, SOURCES, lambda name: True)
    assert levels == {"x": 0, "y": 1, "cut": 1, "z": 1, "w": 1}
