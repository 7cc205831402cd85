"""Modules that tutorials import: `from penstock.examples.tutorials.mnist import input_data`."""

from __future__ import annotations

from penstock.api.old_paths import add_module
from penstock.contrib.learn import mnist

add_module(f"{__name__}.tutorials.mnist.input_data", mnist)
