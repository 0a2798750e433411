"""A function in, its JSON Schema out; JSON arguments in, Python objects out.

    introspect, function_to_json   what a function takes, as a JSON Schema that a model can fill in
    build                          the way back: the objects that the function is called with
    render                         schemas as text for a prompt: JSON, TypeScript or Python
    lint                           what in schemas a small model will stumble over
    inlined                        any JSON Schema without references, as far as that can be

Whatever cannot be offered is a SchemaError when it is introspected, not when it is called.
"""

from __future__ import annotations

from azent.schema.build import InvalidArguments, build
from azent.schema.inline import inlined
from azent.schema.introspect import Introspected, function_to_json, introspect
from azent.schema.lint import Finding, lint
from azent.schema.render import Style, render

__all__ = [
    "Finding",
    "Introspected",
    "InvalidArguments",
    "Style",
    "build",
    "function_to_json",
    "inlined",
    "introspect",
    "lint",
    "render",
]
