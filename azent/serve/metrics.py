"""What the server counts, in the text form that Prometheus reads."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from azent.serve.answer import Finish
from azent.serve.slots import Slots

BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)  # seconds
TOTALS = {
    "tool_calls": "Calls that models made.",
    "corrections": "Replies that could not be used and were asked for again.",
    "prompt_tokens": "Tokens that models read for azent's replies.",
    "reply_tokens": "Tokens that models wrote for azent's replies.",
}


class Metrics:
    """Counts of requests, and of what models made of them."""

    media_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, slots: Slots) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter("requests", "Requests that are over.", "route", "status")
        self.replies = self._counter("replies", "Chats, by who answered them.", "by")
        self.totals = {name: self._counter(name, help) for name, help in TOTALS.items()}
        self.seconds = Histogram(
            "azent_request_seconds",
            "How long requests took.",
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._gauge("at_work", "Requests at work now.").set_function(lambda: slots.at_work)
        self._gauge("waiting", "Requests that wait now.").set_function(lambda: slots.waiting)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that is over; `route` is one of a few, never what a client sent."""
        self.requests.labels(route, status).inc()
        self.seconds.observe(seconds)

    def count_passed(self) -> None:
        """Count a request that was passed on."""
        self.replies.labels("passed_on").inc()

    def count_reply(self, finish: Finish) -> None:
        """Count a reply that azent gave."""
        self.replies.labels("azent").inc()
        self.totals["tool_calls"].inc(len(finish.calls))
        self.totals["corrections"].inc(finish.corrections)
        self.totals["prompt_tokens"].inc(finish.usage.prompt_tokens)
        self.totals["reply_tokens"].inc(finish.usage.reply_tokens)

    def text(self) -> str:
        """All of it, in Prometheus' text form."""
        return generate_latest(self.registry).decode()

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(f"azent_{name}", help, labels, registry=self.registry)

    def _gauge(self, name: str, help: str) -> Gauge:
        return Gauge(f"azent_requests_{name}", help, registry=self.registry)
