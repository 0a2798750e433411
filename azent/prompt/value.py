"""What a prompt set is: texts, and settings that a `set.toml` gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from azent.prompt.examples import Kind
from azent.prompt.text import Text
from azent.schema import Style

Narrowing: TypeAlias = Literal["gate", "choose", "list"]
NO_SETTINGS = {"name", "texts", "folder"}  # the fields of a set that no setting gives


@dataclass(frozen=True, slots=True)
class WordRules:
    """What the words of a question decide without the model (`azent.words`); the table `[words]`.

    `decline`: no call is asked for where the question shares no word with any function; `always`:
    where it shares one, at least one call is. `nearest`: so many of the nearest functions are
    offered, 0 for all; only the nearest one, where it leads by `lead`.

    `joins`: from so many joining words on several calls are asked for, 0 for never: at least as
    many as there are functions that score `mentioned` times the best one. Then those are offered
    that score `near` times the best, or of which the question has a word that no other has.
    `strict`: joining words leave no doubt only where there are three, or two and one of them is
    strong. `pressed`: where several calls are asked for, the model has to write so many, since a
    small one stops at the least that it may write; `doubted`: the same where, with `always`, it is
    in doubt whether several are.
    `news`: beyond as many as are asked for without doubt, a further call is not made unless it has
    something that was said and that the calls before lack; and where it is in doubt whether more
    than one is asked for, unless all that it has was said.

    `gate`: the gate is asked only where so many words or fewer are shared, 0 for always.
    `grounded`: a call is not made unless all, or half, of its required inputs were said. `given`:
    optional inputs that were not said are left out. `onward`: when results have come, a function
    that the question speaks of by a word of its own, and that has given none yet, is to be called
    with them; not once it has failed twice.
    """

    decline: bool = False
    always: bool = False
    nearest: int = 0
    lead: float = 1.0
    joins: int = 0
    near: float = 0.5
    mentioned: float = 0.3
    pressed: int = 0
    doubted: int = 0
    strict: bool = False
    gate: int = 0
    grounded: Literal["none", "half", "all"] = "none"
    given: bool = False
    news: bool = False
    onward: bool = False


NO_RULES = WordRules()


@dataclass(frozen=True, slots=True)
class GateExample:
    """What a model is shown before the gate is asked: functions, a request, and "yes" or "no"."""

    functions: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The texts and settings by which a model is asked.

    `turn` is "decide-answer" (calls are asked for first, then plain words) or "single" (both in one
    reply). `decide` is what is asked before the calls are, in requests of their own: "gate",
    whether any function is meant at all, after the examples in `gate`; "choose", a yes or no for
    each function; "list", the separate things asked for. `held` holds decisions to a JSON schema by
    the server. `functions` is how tools are shown. `thought` asks for a thought before the calls.
    `examples` are the kinds of examples that are made of the user's own tools: "one" call, "two",
    "none", "near" (a near miss). `words` is what needs no model. `models` are patterns of the names
    of models that the set suits. `folder` is where it was read.
    """

    name: str
    texts: Mapping[str, Text]
    description: str = ""
    turn: Literal["decide-answer", "single"] = "decide-answer"
    decide: tuple[Narrowing, ...] = ()
    held: bool = True
    functions: Style = "python"
    thought: bool = False
    examples: tuple[Kind, ...] = ()
    language: str = "en"
    models: tuple[str, ...] = ()
    words: WordRules = NO_RULES
    gate: tuple[GateExample, ...] = ()
    folder: Path | None = field(default=None, compare=False)
