"""What a JSON value means as calls, in every shape that models give to the protocol.

A value is a set of calls where it says so: by the protocol's keys, by a registered name beside
arguments, or by the shape of another well-known protocol. An object that merely has a "name" is
somebody's data. A call that lacks its end is marked as truncated and never completed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from azent.messages import Call, Problem, Specs
from azent.schema.names import folded
from azent.schema.validate import arguments_of, resolved_tool
from azent.values.strict_json import Repeated

NAMELESS = "a call names no tool"
UNCLOSED = "a closing bracket is missing"
TRUNCATED = "The reply was cut off inside this call; nothing of it was run. Send it again, shorter."


class Shaper:
    """Reads values for one set of tools.

    `unclosed` are the containers that lack their end; `walled` says that a closing tag stands there
    instead, so that the text is not cut. `cut`: no container may lack its end.
    """

    def __init__(
        self, specs: Specs, unclosed: Iterable[Any] = (), *, cut: bool = False, walled: bool = False
    ) -> None:
        self.specs = specs
        self.unclosed = {id(each) for each in unclosed}
        self.cut, self.walled = cut, walled

    def shape(self, value: Any) -> Shape | None:
        """What `value` means, or None where it is no call and no sign that none is needed."""
        if isinstance(value, list):
            return self._list(value)
        if not isinstance(value, dict):
            return None
        if isinstance(value, Repeated):
            return self._repeated(value)
        if not value:
            return self._nameless(value) or Shape(wrapper=True)
        return self._wrapper(value) or self._single(value)

    def call(self, name: str, given: Any, whole: Any = None) -> Call:
        """A raw call; a problem where it, or anything in its input, lacks its end."""
        if self._lacks_end(given) or (self.cut and id(whole) in self.unclosed):
            return self._unclosed(resolved_tool(name, self.specs) or name)
        return Call(name, given)

    def _unclosed(self, tool: str) -> Call:
        if self.walled:
            return Call(tool, {}, Problem("malformed", f"{tool}: In this call {UNCLOSED}."))
        return Call(tool, {}, Problem("truncated", f"{tool}: {TRUNCATED}"))

    # ---- shapes ----

    def _list(self, items: list[Any]) -> Shape | None:
        if not items:
            return Shape(wrapper=True)
        shapes = [self.shape(item) for item in items if item not in (None, {})]
        if any(shape is None for shape in shapes):
            return None
        whole = joined(shape for shape in shapes if shape is not None)
        whole.wrapper = not shapes
        return whole

    def _repeated(self, value: Repeated) -> Shape | None:
        """Several calls written into one object: each begins where a key comes again."""
        parts: list[dict[str, Any]] = [{}]
        for key, item in value.pairs:
            if key in parts[-1]:
                parts.append({})
            parts[-1][key] = item
        shapes = [self.shape(part) for part in parts]
        if any(shape is None or not shape.calls for shape in shapes):
            return None
        return joined(shape for shape in shapes if shape is not None)

    def _wrapper(self, value: dict[str, Any]) -> Shape | None:
        key = key_in(value, LISTS)
        if key is None:
            return None
        shape = self._items(value[key], strong=key.casefold() == "tools")
        if shape is not None:
            shape.wrapper = True
            add_words(shape, value)
        return shape

    def _items(self, inner: Any, strong: bool) -> Shape | None:
        if inner is None or inner is False or inner == []:
            return Shape()
        if isinstance(inner, Mapping):
            return self._wrapper_of_one(inner)
        if not isinstance(inner, list):
            return self._named(inner, strong) if isinstance(inner, str) else None
        shapes = [self._item(item, strong) for item in inner]
        if not strong and any(shape is None for shape in shapes):
            return None
        if all(shape is None for shape in shapes):
            return Shape(broken=NAMELESS) if _all_objects(inner) else None
        broken = NAMELESS if None in shapes else ""
        whole = joined(shape for shape in shapes if shape is not None)
        whole.broken = whole.broken or broken
        return whole

    def _wrapper_of_one(self, inner: Mapping[str, Any]) -> Shape | None:
        shape = self.shape(inner)
        if shape is not None:
            shape.bent.append("one call was given without a list around it")
        return shape

    def _item(self, item: Any, strong: bool) -> Shape | None:
        if isinstance(item, str):
            return self._named(item, strong)
        if isinstance(item, dict):
            return self._asked(item) or self.shape(item)
        return Shape() if item is None else self.shape(item)

    def _named(self, name: str, strong: bool) -> Shape | None:
        """Only a name: a call of a tool that needs no arguments, or one that lacks them."""
        tool = resolved_tool(name, self.specs)
        if strong and tool is None and self._is_written_out(name):
            return Shape(broken="it stands inside a string")
        if tool is None or (self._required(tool) and not strong):
            return Shape() if folded(name) in NO_TOOL else None
        return Shape([Call(tool, {})], bent=["a bare name was read as a call without arguments"])

    def _single(self, value: dict[str, Any]) -> Shape | None:
        return (
            self._call(value)
            or self._wrapped(value)
            or self._keyed(value)
            or self._with_function(value)
        )

    def _with_function(self, value: dict[str, Any]) -> Shape | None:
        function = value.get("function")
        return self.shape(function) if isinstance(function, dict) else None

    def _wrapped(self, value: dict[str, Any]) -> Shape | None:
        """The call inside a wrapper that is known to stand around calls."""
        key = key_in(value, SINGLES)
        if key is None and len(value) == 1:
            key = key_in(value, OUTER)
        if key is None or not isinstance(value[key], (dict, list)) or not value[key]:
            return None
        shape = self.shape(value[key])
        if shape is None or not (shape.calls or shape.wrapper):
            return None
        shape.bent.append(f"the call stood inside {key!r}")
        return shape

    def _keyed(self, value: dict[str, Any]) -> Shape | None:
        """The tool's name as the key of its arguments."""
        calls = []
        for key, given in value.items():
            tool = resolved_tool(key, self.specs)
            if tool is None or not (isinstance(given, dict) or given is None):
                return None
            if not (given is None or self._fits(given, tool)):
                return None
            calls.append(self.call(tool, given, value))
        return Shape(calls, bent=["a tool's name stood as a key"])

    def _call(self, value: dict[str, Any]) -> Shape | None:
        """A call that names its tool: with its arguments in an object, beside the name, or none."""
        name_key, input_key = key_of_name(value), key_in(value, INPUTS)
        if name_key is None:
            return None
        name = value[name_key]
        tool = resolved_tool(name, self.specs)
        if input_key is None:
            return self._without_input(value, name_key, tool)
        if tool is None:
            return self._unknown(value, name_key, input_key)
        if "description" in value and is_schema(value[input_key]):
            return None
        return self._made([self.call(name, value[input_key], value)], value)

    def _without_input(
        self, value: dict[str, Any], name_key: str, tool: str | None
    ) -> Shape | None:
        rest = {k: v for k, v in value.items() if k != name_key and k not in BESIDE}
        for key in THOUGHTS:
            rest.pop(key, None)
        if tool is None and self._is_written_out(value[name_key]):
            return Shape(broken="it stands inside a string")
        if tool is None:
            quiet = folded(value[name_key]) in NO_TOOL and name_key in STRONG and not rest
            return self._made([], value) if quiet else None
        if id(value) in self.unclosed:
            return self._made([self.call(tool, value, value)], value)
        if not rest:
            return self._made([Call(value[name_key], {})], value)
        if not self._fits(rest, tool):
            return None
        shape = self._made([self.call(tool, rest, value)], value)
        shape.bent.append("the arguments stood beside the tool's name")
        return shape

    def _unknown(self, value: dict[str, Any], name_key: str, input_key: str) -> Shape | None:
        """A call of a tool that there is not: an answer in disguise, a problem, or just data."""
        name, given = value[name_key], value[input_key]
        if folded(name) in NO_TOOL:
            return Shape(broken=NAMELESS) if given and not folded(name) else self._made([], value)
        if folded(name) in ANSWERS and (words := _only_words(given)) is not None:
            shape = self._made([], value)
            shape.words = shape.words or words
            return shape
        others = value.keys() - {name_key, input_key, *BESIDE, *THOUGHTS}
        if others or is_schema(given) or not isinstance(given, (dict, str, list, type(None))):
            return None
        return self._made([self.call(name, given, value)], value)

    def _asked(self, value: dict[str, Any]) -> Shape | None:
        """An item of the protocol's list that names a tool, known or not."""
        name_key = key_of_name(value)
        if name_key is None:
            nameless = key_in(value, NAMES) is not None and not any(
                isinstance(item, dict) for item in value.values() if item
            )
            return Shape() if nameless and not any(value.values()) else self._nameless(value)
        if resolved_tool(value[name_key], self.specs) or key_in(value, INPUTS):
            return None
        if folded(value[name_key]) in NO_TOOL:
            return Shape()
        rest = {k: v for k, v in value.items() if k != name_key}
        return Shape([self.call(value[name_key], rest, value)])

    def _nameless(self, value: dict[str, Any]) -> Shape | None:
        """The head of a call that was cut before it named its tool."""
        if id(value) not in self.unclosed or key_of_name(value) is not None:
            return None
        return Shape(broken=UNCLOSED if self.walled else "truncated")

    def _made(self, calls: list[Call], value: dict[str, Any]) -> Shape:
        shape = Shape(calls, wrapper=not calls)
        for key in THOUGHTS:
            if isinstance(value.get(key), str):
                shape.thinking = value[key]
        return shape

    # ---- what the tools say ----

    def _lacks_end(self, value: Any) -> bool:
        """Is the text missing inside this value? Its containers are the last of each level."""
        while isinstance(value, (dict, list)):
            if id(value) in self.unclosed:
                return True
            if not self.unclosed or not value:
                return False
            value = value[-1] if isinstance(value, list) else list(value.values())[-1]
        return False

    def _required(self, tool: str) -> Any:
        return (self.specs[tool].get("parameters") or {}).get("required")

    def _is_written_out(self, name: str) -> bool:
        """Is it no name, but a call of a tool written as code?"""
        head, bracket, _ = name.partition("(")
        return bool(bracket) and resolved_tool(head.strip(), self.specs) is not None

    def _fits(self, given: Mapping[str, Any], tool: str) -> bool:
        names = {folded(str(name)) for name in arguments_of(tool, self.specs)}
        return all(folded(str(key)) in names for key in given)


def _only_words(given: Any) -> str | None:
    """The one string in the input of an answer that came dressed as a call."""
    if isinstance(given, str):
        return str(given)
    if isinstance(given, dict) and len(given) == 1:
        (only,) = given.values()
        return str(only) if isinstance(only, (str, int, float)) else None
    return None


def _all_objects(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) and item for item in items)


# ---- what a value came to, and how several such become one ---------------------------------------


@dataclass(slots=True)
class Shape:
    """The calls that a value holds, raw; and the words and reasoning beside them."""

    calls: list[Call] = field(default_factory=list)
    words: str = ""
    thinking: str = ""
    bent: list[str] = field(default_factory=list)
    wrapper: bool = False
    broken: str = ""


def joined(shapes: Iterable[Shape]) -> Shape:
    """Several shapes as one: all their calls, and the first words and reasoning among them."""
    whole = Shape()
    for shape in shapes:
        whole.calls += shape.calls
        whole.bent += [told for told in shape.bent if told not in whole.bent]
        whole.thinking = whole.thinking or shape.thinking
        whole.words = whole.words or shape.words
        whole.broken = whole.broken or shape.broken
    return whole


def add_words(shape: Shape, value: Mapping[str, Any]) -> None:
    """Put the words and the reasoning that stand beside calls into their shape."""
    for key, item in value.items():
        if isinstance(item, str) and key.casefold() in THOUGHTS:
            shape.thinking = shape.thinking or item
        elif isinstance(item, str) and key.casefold() in WORDS:
            shape.words = shape.words or item


# ---- the keys that models write ------------------------------------------------------------------

LISTS = ("tools", "tool_calls", "calls", "function_calls", "tool_uses", "actions", "toolcalls")
SINGLES = ("tool_call", "function_call", "call", "functioncall", "toolcall", "tool")
OUTER = ("response", "output", "reply", "result", "message", "assistant", "json", "arguments")
STRONG = ("tool", "tool_name", "function_name", "recipient_name", "toolname", "action")
NAMES = (*STRONG, "name", "function")
INPUTS = (
    "tool_input",
    "arguments",
    "parameters",
    "args",
    "input",
    "action_input",
    "params",
    "kwargs",
    "tool_args",
    "tool_arguments",
    "tool_parameters",
    "toolinput",
    "function_args",
    "function_arguments",
)
BESIDE = ("id", "type", "index", "call_id", "tool_call_id", "role", "status")
THOUGHTS = ("thought", "thoughts", "reasoning", "thinking", "explanation")
WORDS = ("answer", "final_answer", "text", "message", "content", "response", "reply", "output")
NO_TOOL = ("", "none", "notool", "notools", "null", "nothing", "na", "notoolneeded")
TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
ANSWERS = ("answer", "finalanswer", "final", "respond", "response", "reply", "directanswer")


def key_in(value: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first key of an object that is one of these names, in any case."""
    for key in value:
        if key in names or key.casefold().strip() in names:
            return key
    return None


def key_of_name(value: Mapping[str, Any]) -> str | None:
    """The key under which an object names a tool."""
    for name in NAMES:
        for key in value:
            if key.casefold().strip() == name and isinstance(value[key], str):
                return key
    return None


def is_schema(value: Any) -> bool:
    """Is it the schema of a tool's input, or no more than the properties of one?"""
    if not isinstance(value, dict) or not value:
        return False
    if isinstance(value.get("properties"), dict) and "type" in value:
        return True
    return all(isinstance(each, dict) and each.get("type") in TYPES for each in value.values())
