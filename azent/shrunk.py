"""What of a log is still sent to the model: what its notes of shrinking say, as functions of it.

Nothing is taken out of a log. A note says what is no longer sent from there on, so that the same
log always gives the same request, and taking the turn of a note back brings back what it hid.
"""

from __future__ import annotations

from azent.messages import Log, Note


def turns_left_out(log: Log) -> int:
    """How many of the first turns are no longer sent."""
    return max((note.turns for note in _notes(log)), default=0)


def results_cut(log: Log) -> dict[str, int]:
    """How many characters are sent of each result, by id, that is no longer sent whole."""
    return {id: note.chars for note in _notes(log) for id in note.ids}


def summary_of(log: Log) -> str:
    """What stands in for the turns that are left out; "" where nothing does."""
    texts = [note.text for note in _notes(log) if note.text]
    return texts[-1] if texts else ""


def shortened(text: str, most: int) -> str:
    """The beginning and the end of a text, and how much is left out between them."""
    if len(text) <= most:
        return text
    head, tail = text[: most - most // 3], text[len(text) - most // 3 :]
    said = f"({len(text) - most} characters omitted to save room)"
    return " ... ".join(filter(None, (head, said, tail)))


def _notes(log: Log) -> list[Note]:
    return [m for m in log if isinstance(m, Note) and m.what == "shrunk"]
