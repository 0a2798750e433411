"""What the notes in a log leave out of later requests.

A log never loses a message. A note says which messages are not sent from there on, so that the same
log always gives the same request, and removing the note restores what it left out.
"""

from __future__ import annotations

from azent.messages import Log, Note


def turns_left_out(log: Log) -> int:
    """Return how many of the first turns are no longer sent."""
    return max((note.turns for note in _notes(log)), default=0)


def results_cut(log: Log) -> dict[str, int]:
    """Return, by id of each shortened result, how many characters are still sent."""
    return {id: note.chars for note in _notes(log) for id in note.ids}


def summary_of(log: Log) -> str:
    """Return the summary of the turns that are left out, "" if there is none."""
    texts = [note.text for note in _notes(log) if note.text]
    return texts[-1] if texts else ""


def shortened(text: str, most: int) -> str:
    """Cut a text to its beginning and its end, with a note on how much is omitted."""
    if len(text) <= most:
        return text
    head, tail = text[: most - most // 3], text[len(text) - most // 3 :]
    said = f"({len(text) - most} characters omitted to save room)"
    return " ... ".join(filter(None, (head, said, tail)))


def _notes(log: Log) -> list[Note]:
    return [m for m in log if isinstance(m, Note) and m.what == "shrunk"]
