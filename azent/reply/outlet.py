"""Text on its way to a person: in pieces that, put together, are the text without outer space."""

from __future__ import annotations

NOTHING = ("null", "none", "{}", "[]")  # a reply that is one of these says that there is no call


def _may_mean_nothing(words: str) -> bool:
    return any(nothing.startswith(words.casefold()) for nothing in NOTHING)


class Outlet:
    """Takes text as it becomes certain and hands it on; white space at either end is kept back, and
    so are words that may turn out to mean that there is nothing to say.
    """

    def __init__(self) -> None:
        self._waiting = ""
        self._given: list[str] = []
        self._ended = False

    def put(self, text: str) -> None:
        """More text; white space before the first word is dropped."""
        self._waiting += text if self._given or self._waiting else text.lstrip()

    def take(self) -> str:
        """What may be shown now and was not taken before."""
        ready = self._waiting.rstrip()
        if not (self._given or self._ended) and _may_mean_nothing(ready):
            return ""
        self._waiting = self._waiting[len(ready) :]
        if ready:
            self._given.append(ready)
        return ready

    def rest(self) -> str:
        """What was put in and is not taken yet."""
        return self._waiting

    def end(self, whole: str) -> None:
        """The text turned out to be `whole`: what is still missing of it is ready."""
        self._ended, given = True, "".join(self._given)
        self._waiting = whole[len(given) :] if whole.startswith(given) else ""
