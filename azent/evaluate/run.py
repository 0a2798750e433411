"""Running cases: what was done is kept line by line, and is not done again.

Outcomes are JSON objects, one on each line of a file that is appended to. Whoever starts again on
the same file goes on where it was left: an outcome counts as long as model, prompt set (its texts
and settings too) and case (what it says, too) are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

from azent.arguments import place, whole
from azent.errors import CasesError
from azent.evaluate.arms import Arm, Key, Outcome, key_of, try_case
from azent.evaluate.cases import Case
from azent.execute.threads import DaemonThreads
from azent.files import open_regular, read_stream
from azent.messages import Usage
from azent.wording import reason_of, safe_json


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to do, and what was done before: outcomes of these arms on these cases."""

    todo: tuple[tuple[Arm, Case], ...]
    done: tuple[Outcome, ...]


def plan(arms: Iterable[Arm], cases: Sequence[Case], kept: Iterable[Outcome] = ()) -> Plan:
    """Each arm with each case; a server's tool calling only where no answer is asked for.

    The arms take turns on a case, so that a run that is left early compares them all the same.
    """
    by_key = {outcome.key: outcome for outcome in kept}
    arms = tuple(arms)
    pairs = [(arm, case) for case in cases for arm in arms if arm.prompts or not case.runs]
    done = [known(pair, by_key) for pair in pairs]
    todo = [pair for pair, outcome in zip(pairs, done, strict=True) if outcome is None]
    return Plan(tuple(todo), tuple(outcome for outcome in done if outcome))


def known(pair: tuple[Arm, Case], kept: Mapping[Key, Outcome]) -> Outcome | None:
    """The outcome of before, if it still counts; one without a stamp says nothing of the case."""
    outcome = kept.get(key_of(*pair))
    return outcome if outcome and outcome.stamp in ("", pair[1].stamp) else None


def run(
    todo: Iterable[tuple[Arm, Case]], file: str | Path | None = None, *, jobs: int = 1
) -> Iterator[Outcome]:
    """The outcomes as they come, each kept in the file at once; so many cases asked side by side.

    Raises ModelError's kinds when the model's server is gone; what was done is kept.
    """
    kept = None if file is None else place("file", file)
    if kept is not None:
        _make_ready(kept)
    alone = whole("jobs", jobs, 1) == 1
    tried = (try_case(*pair) for pair in todo) if alone else _side_by_side(todo, jobs)
    for outcome in tried:
        if kept is not None:
            _append(kept, outcome)
        yield outcome


def _side_by_side(todo: Iterable[tuple[Arm, Case]], jobs: int) -> Iterator[Outcome]:
    """The outcomes as they come, never more than so many cases on their way."""
    left, threads = iter(todo), DaemonThreads()  # which hold nobody up who leaves early
    try:
        out = {threads.submit(try_case, *pair) for pair in islice(left, jobs)}
        while out:
            done, out = wait(out, return_when=FIRST_COMPLETED)
            out |= {threads.submit(try_case, *pair) for pair in islice(left, len(done))}
            # What failed comes last: it ends the run, and what was done is kept.
            yield from (each.result() for each in sorted(done, key=_failed))
    finally:
        threads.shutdown(wait=False)


def _failed(future: Future[Outcome]) -> bool:
    return future.exception() is not None


def read_outcomes(file: str | Path) -> list[Outcome]:
    """The outcomes in a file, the last one where there are several of one key; none without it.

    A last line that was not written to its end is passed over. Raises CasesError for any other.
    """
    file = place("file", file)
    if not file.exists():
        return []
    with _usable(file):
        lines = read_stream(file).split("\n")
    numbered = [(number, line) for number, line in enumerate(lines[:-1], start=1) if line.strip()]
    outcomes = [_outcome(line, f"{file}:{number}") for number, line in numbered]
    return list({outcome.key: outcome for outcome in outcomes}.values())


def _append(file: Path, outcome: Outcome) -> None:
    line = safe_json(json.dumps(asdict(outcome), ensure_ascii=False)) + "\n"
    with _usable(file), file.open("ab") as lines:
        lines.write(line.encode())


def _make_ready(file: Path) -> None:
    """See that the file can be written to, and cut off half a line that a killed run left there."""
    with _usable(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            open_regular(file).close()  # a device has no end, and a pipe no lines to go on from
        with file.open("ab+") as lines:
            lines.seek(0)
            lines.truncate(lines.read().rfind(b"\n") + 1)


@contextmanager
def _usable(file: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise CasesError(f"{file} cannot be used: {reason_of(error)}") from error


def _outcome(line: str, place: str) -> Outcome:
    try:
        given: dict[str, Any] = json.loads(line)
        usage = Usage(**given.pop("usage"))
        outcome = Outcome(**{**given, "calls": tuple(given["calls"]), "usage": usage})
        _check_types(outcome)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        hint = "Name another file, or one that `azent eval -o` wrote."
        raise CasesError(f"{place}: this is no outcome of `azent eval`", hint) from error
    return outcome


def _check_types(outcome: Outcome) -> None:
    """Raise TypeError where a value is not of its field's type."""
    texts = (getattr(outcome, each.name) for each in fields(Outcome) if each.type == "str")
    are_texts = all(isinstance(text, str) for text in texts)
    are_numbers = all(isinstance(number, int | float) for number in astuple(outcome.usage))
    if not (are_texts and are_numbers and all(isinstance(call, dict) for call in outcome.calls)):
        raise TypeError("a value of another type")
