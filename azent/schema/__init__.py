"""JSON Schemas of functions, and Python objects from JSON arguments.

    introspect, function_to_json   the JSON Schema of a function's parameters
    build                          the Python objects for a call, from its JSON arguments
    render                         schemas as text for a prompt: JSON, TypeScript or Python
    lint                           findings on schemas that small models find hard
    inlined                        a JSON Schema with its references resolved where possible

A function that cannot be offered raises SchemaError when it is introspected, not when it is called.
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
