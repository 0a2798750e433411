"""What the server counts, in the text form that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate

from azent.serve.answer import Finish
from azent.serve.slots import Slots

BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)  # seconds
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts of requests, and of what models made of them."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.requests: Counter[tuple[str, int]] = Counter()
        self.answered: Counter[str] = Counter()
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0
        self.totals: Counter[str] = Counter()

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that is over; `route` is one of a few, never what a client sent."""
        self.requests[route, status] += 1
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds

    def count_passed(self) -> None:
        """Count a request that was passed on untouched."""
        self.answered["passed_on"] += 1

    def count_reply(self, finish: Finish) -> None:
        """Count a reply that azent gave."""
        self.answered["azent"] += 1
        self.totals["tool_calls"] += len(finish.calls)
        self.totals["corrections"] += finish.corrections
        self.totals["prompt_tokens"] += finish.usage.prompt_tokens
        self.totals["reply_tokens"] += finish.usage.reply_tokens

    def text(self) -> str:
        """All of it, in Prometheus' text form."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        requests = [
            (f'{{route="{route}",status="{status}"}}', count)
            for (route, status), count in sorted(self.requests.items())
        ]
        answered = [(f'{{by="{by}"}}', count) for by, count in sorted(self.answered.items())]
        yield from _metric("requests_total", "counter", "Requests that are over.", requests)
        yield from _metric("replies_total", "counter", "Chats, by who answered them.", answered)
        for name, help in _TOTALS.items():
            yield from _metric(f"{name}_total", "counter", help, [("", self.totals[name])])
        at_work, waiting = [("", self.slots.at_work)], [("", self.slots.waiting)]
        yield from _metric("requests_at_work", "gauge", "Requests at work now.", at_work)
        yield from _metric("requests_waiting", "gauge", "Requests that wait now.", waiting)
        yield from self._histogram()

    def _histogram(self) -> Iterator[str]:
        counts = list(accumulate(self.buckets))
        edges = [*map(str, BUCKETS), "+Inf"]
        pairs = zip(edges, counts, strict=True)
        samples: list[tuple[str, float]] = [
            *((f'_bucket{{le="{edge}"}}', count) for edge, count in pairs),
            ("_sum", round(self.seconds, 6)),
            ("_count", counts[-1]),
        ]
        yield from _metric("request_seconds", "histogram", "How long requests took.", samples)


_TOTALS = {
    "tool_calls": "Calls that models made.",
    "corrections": "Replies that could not be used and were asked for again.",
    "prompt_tokens": "Tokens that models read for azent's replies.",
    "reply_tokens": "Tokens that models wrote for azent's replies.",
}


def _metric(name: str, kind: str, help: str, samples: Iterable[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP azent_{name} {help}"
    yield f"# TYPE azent_{name} {kind}"
    for label, value in samples:
        yield f"azent_{name}{label} {value}"
