"""A scripted model that answers canitoolcall's questions rightly, by what stands in them."""

from __future__ import annotations

from typing import Any

from azent.messages import Request
from tests.serving import Telling, calls_text

WEATHER, NOTE, EVENT = "get_weather", "save_note", "create_event"
NONE = calls_text()
EVENT_INPUT = {
    "title": "Design review",
    "start": "2026-10-01T15:00:00Z",
    "attendees": [
        {"name": "Ana", "email": "ana@example.com"},
        {"name": "Bo", "email": "bo@example.com"},
    ],
    "location": {"city": "Berlin", "room": "4.12"},
}
NOTE_INPUT = {
    "title": "Grüße aus Zürich",
    "body": "Café ☕ in 東京 — naïve résumé 🚀",
}
DECISIONS: dict[str, str] = {  # by a stretch of the question
    "weather in Paris right now": calls_text((WEATHER, {"city": "Paris"})),
    "in Paris and in Tokyo": calls_text((WEATHER, {"city": "Paris"}), (WEATHER, {"city": "Tokyo"})),
    "Design review": calls_text((EVENT, EVENT_INPUT)),
    "Grüße aus Zürich": calls_text((NOTE, NOTE_INPUT)),
    "time is it on the server": calls_text(("get_server_time", {})),
    "something about Lisbon": calls_text((WEATHER, {"city": "Lisbon"})),
    "which number is larger": "<think>9.9 is 9.90.</think>"
    + calls_text(("record_answer", {"answer": "9.9"})),
}


def rightly(name: str = "rightly") -> Telling:
    """The model."""
    return Telling(_answer, name=name)


def _answer(request: Request) -> Any:
    said = "\n".join(message["content"] for message in request.messages[1:])
    if request.format is None:
        return "42" if "17 + 25" in said else "It is 18 degrees and clear in Paris."
    return next((reply for part, reply in DECISIONS.items() if part in said), NONE)
