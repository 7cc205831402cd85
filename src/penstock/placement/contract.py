"""Fewer nodes for the same step: what is cheap is merged with what it follows, so that placements are tried quickly.

A merged node stands for a chain or a tree of nodes that one device runs without waiting in between. Only merging that
leaves the graph without circles is done: a node with its only predecessor, or a cheap one with its only successor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.placement.choice import Choice
from penstock.placement.problem import Problem
from penstock.placement.union_find import UnionFind


@dataclass(slots=True)
class Contracted:
    """`choice` has fewer nodes. group[g]: what group g of the `whole` is there; -1 if its nodes are everywhere."""

    whole: Choice
    choice: Choice
    group: list[int]

    def lift(self, devices: Sequence[int]) -> list[int]:
        """The placement of the whole step's nodes with group g of the contracted on `devices[g]`."""
        pairs = zip(self.group, self.whole.feasible, strict=True)
        return self.whole.spread([devices[g] if g >= 0 else feasible[0] for g, feasible in pairs])


def contract(whole: Choice, grain: float) -> Contracted:
    """`whole` with nodes merged that take up to `grain` seconds together."""
    p, groups, feasible = whole.problem, whole.groups, whole.feasible
    count = len(p.inputs)
    work = p.mean_seconds.copy()
    sets = UnionFind(len(feasible))
    allowed = list(feasible)
    first = list(range(count))
    """A merged node's first member stands for it."""

    def head(i: int) -> int:
        while first[i] != i:
            first[i] = first[first[i]]
            i = first[i]
        return i

    def join(a: int, b: int) -> bool:
        ga, gb = sets.find(groups[a]), sets.find(groups[b])
        if ga != gb:
            both = tuple(d for d in allowed[ga] if d in allowed[gb])
            if len(both) < min(len(allowed[ga]), len(allowed[gb])):
                return False
            allowed[sets.join(ga, gb)] = both
        return True

    preds: list[set[int]] = [set() for _ in range(count)]
    succs: list[set[int]] = [set() for _ in range(count)]
    for i in range(count):
        for j in (*(j for j, _ in p.inputs[i]), *p.controls[i]):
            if not p.everywhere[j]:
                preds[i].add(j)
                succs[j].add(i)

    def merge(a: int, b: int) -> None:
        """b into a; one is the only neighbour of the other on their side."""
        first[b] = a
        work[a] += work[b]
        succs[a].discard(b)
        preds[b].discard(a)
        for k in succs[b]:
            preds[k].discard(b)
            preds[k].add(a)
        for k in preds[b]:
            succs[k].discard(b)
            succs[k].add(a)
        succs[a] |= succs[b]
        preds[a] |= preds[b]

    for i in range(count):  # with the only predecessor
        if len(preds[i]) == 1 and not p.everywhere[i]:
            (a,) = preds[i]
            if work[a] + work[i] <= grain and join(a, i):
                merge(a, i)
    for i in range(count - 1, -1, -1):  # cheap ones with the only successor
        if first[i] == i and len(succs[i]) == 1 and not p.everywhere[i]:
            (b,) = succs[i]
            if work[i] <= grain / 8 and work[b] + work[i] <= grain and join(b, i):
                merge(b, i)
    return _contracted(whole, sets, allowed, [head(i) for i in range(count)])


def _contracted(whole: Choice, sets: UnionFind, allowed: list[tuple[int, ...]], heads: list[int]) -> Contracted:
    p, groups = whole.problem, whole.groups
    count = len(heads)
    members: dict[int, list[int]] = {}
    for i in range(count):
        if not p.everywhere[i]:
            members.setdefault(heads[i], []).append(i)
    order = _in_order(p, members, heads)
    task = [-1] * count
    for t, h in enumerate(order):
        for i in members[h]:
            task[i] = t
    number: dict[int, int] = {}
    task_groups = [number.setdefault(sets.find(groups[h]), len(number)) for h in order]
    inputs: list[list[tuple[int, int]]] = []
    controls: list[list[int]] = []
    consumers: list[list[int]] = [[] for _ in order]
    output, state, viewers = [], [], []
    fetched = set()
    for t, h in enumerate(order):
        mine = {v: task[j] for i in members[h] for j, v in p.inputs[i] if task[j] not in (-1, t)}
        inputs.append([(j, v) for v, j in mine.items()])
        waits = dict.fromkeys(task[j] for i in members[h] for j in p.controls[i] if task[j] not in (-1, t))
        controls.append(list(waits))
        for j in dict.fromkeys([*mine.values(), *controls[t]]):
            consumers[j].append(t)
        seen: dict[int, None] = {}
        kept = inside = 0.0
        for i in members[h]:
            there = [task[k] for k in p.viewers[i]]
            if all(k == t for k in there) and i not in p.fetched:
                inside = max(inside, p.output_bytes[i])
            else:
                kept += p.output_bytes[i]
                seen.update(dict.fromkeys(there))
            if i in p.fetched:
                fetched.add(t)
        output.append(kept + inside)
        viewers.append([k for k in seen if k != t])
        state.append(sum(p.state_bytes[i] for i in members[h]))
    kinds = {id(seconds): seconds for seconds in p.seconds}
    summed = {kind: [sum(seconds[i] for i in members[h]) for h in order] for kind, seconds in kinds.items()}
    found = replace(
        p,
        inputs=inputs,
        controls=controls,
        consumers=consumers,
        viewers=viewers,
        output_bytes=output,
        state_bytes=state,
        seconds=[summed[id(seconds)] for seconds in p.seconds],
        fetched=fetched,
        everywhere=[False] * len(order),
    )
    group = [number.get(sets.find(g), -1) for g in range(len(allowed))]
    feasible = [allowed[root] for root in number]
    return Contracted(whole, Choice(found, task_groups, feasible, whole.seconds), group)


def _in_order(p: Problem, members: dict[int, list[int]], heads: list[int]) -> list[int]:
    """The merged nodes, each after what it needs."""
    waiting = dict.fromkeys(members, 0)
    after: dict[int, list[int]] = {h: [] for h in members}
    for h, mine in members.items():
        needs = {heads[j] for i in mine for j in (*(j for j, _ in p.inputs[i]), *p.controls[i]) if not p.everywhere[j]}
        needs.discard(h)
        waiting[h] = len(needs)
        for j in needs:
            after[j].append(h)
    ready = [h for h, n in waiting.items() if not n]
    for h in ready:  # grows
        for k in after[h]:
            waiting[k] -= 1
            if not waiting[k]:
                ready.append(k)
    assert len(ready) == len(members)
    return ready
