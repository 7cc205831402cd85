"""Draws faults. The same seed draws the same ones."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from penstock.cluster.spec import full_name
from tests.cluster.chaos.injected import CLIENT, Order, Trigger

WORKERS = [full_name("worker:0"), full_name("worker:1")]
TASKS = [*WORKERS, full_name("ps:0"), full_name("ps:1")]
DEAD_S = 2.0

MOMENTS = ("registering", "sending", "computing", "saving", "restoring", "aborting")
KINDS = ("kill", "kill", "stop", "part", "delay", "drop", "repeat", "cut")


@dataclass(frozen=True)
class Cast:
    """Who takes part. clients: those that run steps; the first one saves and restores. victims: processes, by the names
    of what runs in them. kinds: what may be done, a kind that is there twice twice as often."""

    clients: tuple[str, ...] = (CLIENT,)
    victims: tuple[str, ...] = (*TASKS, CLIENT)
    kinds: tuple[str, ...] = KINDS


@dataclass(frozen=True)
class Chance:
    """A fault at a moment. `before`: a fault that brings the moment about, if training alone does not."""

    moment: str
    order: Order
    before: Order | None = None

    def __str__(self) -> str:
        order = self.order
        at = f"{order.trigger.nth}. {order.trigger.kind} {order.trigger.method} of {order.trigger.who}".strip()
        what = f"{order.do} {order.victim or 'the message'} {order.other}".strip()
        before = f", after {self.before.do} {self.before.victim}" if self.before else ""
        return f"{self.moment}: {what} (for {order.for_s:.2f} s, after {order.after_s:.3f} s) at the {at}{before}"


def draw(dice: random.Random, number: int, cast: Cast | None = None) -> Chance:
    """The fault with this number; numbers of orders grow by two."""
    cast = cast or Cast()
    moment = dice.choice(MOMENTS)
    client = cast.clients[0] if moment in ("saving", "restoring") else dice.choice(cast.clients)
    trigger = _trigger(dice, moment, client)
    order = _order(dice, 2 * number + 1, moment, trigger, cast)
    before = _before(dice, 2 * number, moment, client, cast)
    return Chance(moment, replace(order, follows=before and before.number), before)


def _trigger(dice: random.Random, moment: str, client: str) -> Trigger:
    match moment:
        case "registering":
            return Trigger(client, "call", dice.choice(["open_session", "register"]), nth=dice.randint(1, 6))
        case "sending":
            return Trigger(dice.choice(TASKS), "tell", "deliver", nth=dice.randint(1, 8))
        case "computing":
            return Trigger(client, "call", "run", phase="training", nth=dice.randint(1, 20))
        case "saving":
            return Trigger(client, "call", "run", phase="saving", nth=dice.randint(1, 4))
        case "restoring":
            return Trigger(client, "call", "run", phase="restoring", nth=dice.randint(1, 4))
    return Trigger(client, "tell", "abort", nth=dice.randint(1, 2))


def _order(dice: random.Random, number: int, moment: str, trigger: Trigger, cast: Cast) -> Order:
    after = dice.choice([0.0, dice.uniform(0, 0.02)])
    do = dice.choice(cast.kinds)
    if do == "drop" and moment == "aborting":
        do = "repeat"  # a part that nobody aborts ends at its deadline: that is "sending" with "drop"
    match do:
        case "kill":
            return Order(number, trigger, do, dice.choice(cast.victims), after_s=after)
        case "node":
            return Order(number, trigger, do, dice.choice(TASKS), after_s=after)
        case "stop":
            return Order(number, trigger, do, dice.choice(cast.victims), after_s=after, for_s=dice.uniform(0.1, 4))
        case "part":
            victim, other = dice.sample(sorted({*TASKS, *cast.clients}), 2)
            return Order(number, trigger, do, victim, other, for_s=dice.uniform(0.1, 4))
        case "delay":
            return Order(number, trigger, do, for_s=dice.uniform(0.01, 1))
    return Order(number, trigger, do)


def _before(dice: random.Random, number: int, moment: str, client: str, cast: Cast) -> Order | None:
    """A lost connection or task: what follows is a new session, or an abort."""
    victims = [each for each in cast.victims if each != CLIENT or moment != "aborting"]
    if moment in ("registering", "restoring", "aborting"):
        trigger = Trigger(client, "call", "run", phase="training", nth=dice.randint(1, 5))
        return Order(number, trigger, *dice.choice([("cut",), ("kill", dice.choice(victims))]))
    return None
