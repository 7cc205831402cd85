"""A queue as the documentation of TensorFlow has it, one element at a time: what the real one is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field

OK, CANCELLED, EXHAUSTED = "ok", "cancelled", "out of range"


@dataclass(eq=False)
class Call:
    """One call of a client: an enqueue of `values`, a dequeue of `count`, or a close."""

    kind: str
    values: list[int] = field(default_factory=list)
    count: int = 0
    taken: list[int] = field(default_factory=list)
    outcome: str = ""


@dataclass
class QueueModel:
    """Of a shuffling queue, too, the oldest comes out: who compares lets it be what really came."""

    capacity: int
    least: int = 0
    by_priority: bool = False
    elements: list[int] = field(default_factory=list)
    closed: bool = False
    puts: list[Call] = field(default_factory=list)
    takes: list[Call] = field(default_factory=list)

    def begin(self, call: Call) -> None:
        if call.kind == "cancel":
            self.closed = True
            for each in self.puts:
                each.outcome = CANCELLED
            self.puts.clear()
            call.outcome = OK
        elif not call.values and not call.count and call.kind != "close":
            call.outcome = OK  # nothing to put in or to take out
        else:
            (self.puts if call.kind in ("put", "close") else self.takes).append(call)
        self.settle()

    def end(self, call: Call) -> None:
        """It is withdrawn: what it had taken goes back."""
        for line in (self.puts, self.takes):
            if call in line:
                line.remove(call)
        self._give_back(call)
        self.settle()

    def settle(self) -> None:
        moved = True
        while moved:
            moved = False
            while self.puts and self._put(self.puts[0]):
                moved = True
                if self.puts[0].outcome:
                    self.puts.pop(0)
            while self.takes and self._take(self.takes[0]):
                moved = True
                if self.takes[0].outcome:
                    self.takes.pop(0)

    def _put(self, call: Call) -> bool:
        """One thing that happens to the first call that puts something in; False if nothing can."""
        if self.closed:
            call.outcome = CANCELLED
        elif call.kind == "close":
            self.closed = True
            call.outcome = OK
        elif len(self.elements) >= self.capacity:
            return False
        else:
            self.elements.append(call.values.pop(0))
            call.outcome = "" if call.values else OK
        return True

    def _take(self, call: Call) -> bool:
        missing = call.count - len(call.taken)
        if self.closed and len(self.elements) < missing:
            self._give_back(call)
            if call.kind == "up_to" and self.elements:
                call.count = len(self.elements)
                return self._take(call)
            call.outcome = EXHAUSTED
            return True
        if len(self.elements) <= (0 if self.closed else self.least):
            return False
        if self.by_priority and len(self.elements) < missing:
            return False
        call.taken.append(self.elements.pop(self.elements.index(min(self.elements)) if self.by_priority else 0))
        call.outcome = OK if len(call.taken) == call.count else ""
        return True

    def _give_back(self, call: Call) -> None:
        self.elements[:0] = call.taken
        call.taken = []
