"""Summaries named after their tensors (TF: tf.contrib.slim.summaries)."""

from __future__ import annotations

from typing import Any

from penstock import nn, summary
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, add_to_collection
from penstock.ops.logging import Print


def _name(tensor: Any, name: str | None, prefix: str | None, postfix: str | None = None) -> str:
    return "/".join(part for part in (prefix, name or tensor.op.name, postfix) if part)


def _printed(made: Tensor, tensor: Any, name: str) -> Tensor:
    """A summary that also prints the tensor."""
    printing = Print(made, [tensor], name)
    add_to_collection(GraphKeys.SUMMARIES, printing)
    return printing


def add_histogram_summary(tensor: Any, name: str | None = None, prefix: str | None = None) -> Tensor:
    """A histogram named prefix/name; `name` is by default the tensor's."""
    return summary.histogram(_name(tensor, name, prefix), tensor)


def add_image_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Images [n, h, w, c]; `print_summary` prints the tensor when they are made."""
    name = _name(tensor, name, prefix)
    made = summary.image(name, tensor, collections=[] if print_summary else None)
    return _printed(made, tensor, name) if print_summary else made


def add_scalar_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """One number; `print_summary` prints it as well."""
    name = _name(tensor, name, prefix)
    made = summary.scalar(name, tensor, collections=[] if print_summary else None)
    return _printed(made, tensor, name) if print_summary else made


def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """The fraction of zeros."""
    name = _name(tensor, name, prefix, "Fraction_of_Zero_Values")
    return add_scalar_summary(nn.zero_fraction(tensor), name, print_summary=print_summary)


def add_histogram_summaries(tensors: Any, prefix: str | None = None) -> list[Tensor]:
    """`add_histogram_summary` for each."""
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


def add_image_summaries(tensors: Any, prefix: str | None = None) -> list[Tensor]:
    """`add_image_summary` for each."""
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


def add_scalar_summaries(tensors: Any, prefix: str | None = None, print_summary: bool = False) -> list[Tensor]:
    """`add_scalar_summary` for each."""
    return [add_scalar_summary(tensor, prefix=prefix, print_summary=print_summary) for tensor in tensors]


def add_zero_fraction_summaries(tensors: Any, prefix: str | None = None) -> list[Tensor]:
    """`add_zero_fraction_summary` for each."""
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
