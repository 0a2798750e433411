"""The keys by which models say what is a call, what is its tool, and what are its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def name_key(value: Mapping[str, Any]) -> str | None:
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
