"""CTC: losses by adding up every path of a small problem, decoders by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import penstock.nn  # registers the ops
from penstock import errors
from tests.ops.harness import OpCase

assert penstock.nn

BAD = errors.InvalidArgumentError
RANDOM = np.random.RandomState(3)
LOGITS = RANDOM.uniform(-2, 2, (4, 3, 3)).astype(np.float32)
ROWS = np.array([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]], np.int64)
LABELS = np.array([0, 1, 1, 0, 0], np.int32)
LENGTHS = np.array([4, 2, 3], np.int32)


def log_softmax(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def path_loss(scores: np.ndarray, labels: list[int], merge: bool = True) -> float:
    """Minus the log of the probability of all paths that are read as `labels`."""
    steps, classes = scores.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        kept = [c for i, c in enumerate(path) if not (merge and i and path[i - 1] == c)]
        if [c for c in kept if c != classes - 1] == labels:
            total += np.exp(sum(scores[t, c] for t, c in enumerate(path)))
    return -float(np.log(total))


def losses(labels: list[list[int]], merge: bool = True) -> np.ndarray:
    scores = log_softmax(LOGITS)
    return np.array([path_loss(scores[:n, b], row, merge) for b, (n, row) in enumerate(zip(LENGTHS, labels))])  # noqa: B905


def expected(labels: list[list[int]], merge: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The losses, and their slopes by central differences."""
    global LOGITS
    kept, slopes = LOGITS, np.zeros(LOGITS.shape)
    for place in np.ndindex(*kept.shape):
        found = []
        for step in (1e-4, -1e-4):
            LOGITS = kept.astype(np.float64)
            LOGITS[place] += step
            found.append(losses(labels, merge).sum())
        slopes[place] = (found[0] - found[1]) / 2e-4
    LOGITS = kept
    return losses(labels, merge).astype(np.float32), slopes.astype(np.float32)


def loss_case(labels: list[list[int]], merge: bool = True, **kwargs: Any) -> OpCase:
    rows = np.array([(b, i) for b, row in enumerate(labels) for i in range(len(row))], np.int64).reshape(-1, 2)
    values = np.array([label for row in labels for label in row], np.int32)
    attrs = {"ctc_merge_repeated": merge}
    return OpCase("CTCLoss", [LOGITS, rows, values, LENGTHS], attrs, expected(labels, merge), atol=1e-4, **kwargs)


def _of_loss(case: OpCase) -> OpCase:
    case.grad = False  # of the second output there is none; tests/ops/test_sparse_functions.py checks the first
    return case


LOSSES = [
    _of_loss(loss_case([[0, 1], [1], [0, 0]])),
    _of_loss(loss_case([[0, 1], [1], [0, 0]], merge=False)),
    _of_loss(loss_case([[1, 1, 1], [0, 0], [1]], merge=False)),
    OpCase("CTCLoss", [LOGITS, ROWS, LABELS, LENGTHS], {"preprocess_collapse_repeated": True},
           expected([[0, 1], [1], [0]]), atol=1e-4, grad=False),
    OpCase("CTCLoss", [LOGITS, ROWS, LABELS, np.array([4, 0, 3], np.int32)],
           {"ignore_longer_outputs_than_inputs": True}, tuple(
               np.where(np.arange(3).reshape(shape) == 1, 0, part)
               for part, shape in zip(expected([[0, 1], [1], [0, 0]]), ((3,), (1, 3, 1)), strict=True)
           ), atol=1e-4, grad=False),
    OpCase("CTCLoss", [LOGITS, ROWS, LABELS, np.array([4, 0, 3], np.int32)], raises=BAD, match="Not enough time"),
    OpCase("CTCLoss", [LOGITS, ROWS, LABELS, np.array([5, 2, 3], np.int32)], raises=BAD, match="sequence_length"),
    OpCase("CTCLoss", [LOGITS, ROWS, np.array([2, 1, 1, 0, 0], np.int32), LENGTHS], raises=BAD, match="non-null"),
    OpCase("CTCLoss", [LOGITS, ROWS, np.array([-1, 1, 1, 0, 0], np.int32), LENGTHS], raises=BAD, match="nonneg"),
    OpCase("CTCLoss", [LOGITS, ROWS[:3], LABELS[:3], LENGTHS], raises=BAD, match="length is zero in batch 2"),
    OpCase("CTCLoss", [LOGITS, ROWS + 1, LABELS, LENGTHS], raises=BAD),
]  # fmt: skip

# Of two members: 0 0 blank 0 1, and 1 1 blank with what lies behind it left out.
BEST = np.array([[0, 1], [0, 1], [2, 2], [0, 0], [1, 1]])
FRAMES = (np.eye(3)[BEST] * 3 - 1).astype(np.float32)
GREEDY = [
    OpCase("CTCGreedyDecoder", [FRAMES, np.array([5, 3], np.int32)], {},
           (np.array([[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]]), np.array([0, 0, 0, 1, 1, 1]),
            np.array([2, 4]), np.array([[-10], [-6]], np.float32))),
    OpCase("CTCGreedyDecoder", [FRAMES, np.array([5, 3], np.int32)], {"merge_repeated": True},
           (np.array([[0, 0], [0, 1], [0, 2], [1, 0]]), np.array([0, 0, 1, 1]), np.array([2, 3]),
            np.array([[-10], [-6]], np.float32))),
    OpCase("CTCGreedyDecoder", [FRAMES, np.array([2, 0], np.int32)], {"blank_index": 0},
           (np.zeros((0, 2), np.int64), np.zeros(0, np.int64), np.array([2, 0]), np.array([[-4], [0]], np.float32))),
    OpCase("CTCGreedyDecoder", [FRAMES, np.array([6, 3], np.int32)], raises=errors.FailedPreconditionError,
           match="sequence_length"),
]  # fmt: skip


def read(path: tuple[int, ...], classes: int) -> tuple[int, ...]:
    kept = [c for i, c in enumerate(path) if not (i and path[i - 1] == c)]
    return tuple(c for c in kept if c != classes - 1)


def best_sequences(scores: np.ndarray, count: int) -> list[tuple[tuple[int, ...], float]]:
    """The likeliest label sequences of all, with their log probabilities."""
    steps, classes = scores.shape
    totals: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(classes), repeat=steps):
        key = read(path, classes)
        totals[key] = totals.get(key, 0) + float(np.exp(sum(scores[t, c] for t, c in enumerate(path))))
    order = sorted(totals, key=lambda key: -totals[key])[:count]
    return [(key, float(np.log(totals[key]))) for key in order]


def beam_case(logits: np.ndarray, lengths: list[int], top_paths: int) -> OpCase:
    """A beam that is wide enough to hold everything finds the best of all."""
    scores = log_softmax(logits)
    found = [best_sequences(scores[:n, b], top_paths) for b, n in enumerate(lengths)]
    indices, values, shapes = [], [], []
    for k in range(top_paths):
        labels = [rows[k][0] for rows in found]
        indices.append(np.array([(b, i) for b, row in enumerate(labels) for i in range(len(row))]).reshape(-1, 2))
        values.append(np.array([c for row in labels for c in row], np.int64))
        shapes.append(np.array([len(lengths), max(map(len, labels))]))
    scores_found = np.array([[score for _, score in rows] for rows in found], logits.dtype)
    attrs = {"beam_width": 60, "top_paths": top_paths, "merge_repeated": False}
    return OpCase("CTCBeamSearchDecoder", [logits, np.array(lengths, np.int32)], attrs,
                  (*indices, *values, *shapes, scores_found))  # fmt: skip


BEAMS = [
    beam_case(LOGITS, [4, 2, 3], 3),
    beam_case(RANDOM.uniform(-3, 3, (5, 1, 4)).astype(np.float32), [5], 2),
    beam_case(RANDOM.uniform(-3, 3, (5, 2, 3)), [5, 4], 1),
    OpCase("CTCBeamSearchDecoder", [FRAMES * 9, np.array([5, 3], np.int32)], {"beam_width": 4, "top_paths": 1},
           (np.array([[0, 0], [0, 1], [1, 0]]), np.array([0, 1, 1]), np.array([2, 2]), np.zeros((2, 1), np.float32)),
           note="merged", atol=1e-5),
    OpCase("CTCBeamSearchDecoder", [np.random.RandomState(3).randn(30, 3, 6) * 2, np.array([30, 20, 25], np.int32)],
           {"beam_width": 19, "top_paths": 1}, check=lambda *values: np.testing.assert_allclose(
               values[-1], [[-12.87406], [-6.69052], [-9.92786]], atol=1e-4
           ), note="a narrow beam"),  # as TensorFlow finds: the order in which prefixes leave the beam matters
    OpCase("CTCBeamSearchDecoder", [FRAMES, np.array([5, 3], np.int32)], {"beam_width": 2, "top_paths": 3},
           raises=BAD, match="top_paths"),
    OpCase("CTCBeamSearchDecoder", [FRAMES, np.array([6, 3], np.int32)], {"beam_width": 2, "top_paths": 1},
           raises=errors.FailedPreconditionError, match="sequence_length"),
]  # fmt: skip

CASES = [*LOSSES, *GREEDY, *BEAMS]
