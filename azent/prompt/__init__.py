"""Prompts as files that people edit: texts with blanks, and folders of them.

load, suited, read     prompt sets: which one to take, what is in it
folders                which ones there are
folder_here, words_on  those in the current folder, of which the user is told
left_out               the broken ones among them, which nobody named
files_of               a set as the files that it is read from
fill, blanks_of        a text with its blanks filled; the blanks that it has
Template               the same as a function, whose parameters are the blanks
examples               examples of requests and calls, made from the functions themselves
"""

from __future__ import annotations

from azent.prompt.examples import Example, examples
from azent.prompt.here import folder_here, words_on
from azent.prompt.sets import DEFAULT, folders, left_out, load, read, suited
from azent.prompt.text import NO_FILE, Template, Text, blanks_of, fill, read_text, template_from
from azent.prompt.toml import read_settings
from azent.prompt.value import GateExample, PromptSet, SelectionRules
from azent.prompt.written import checked_name, files_of

__all__ = [
    "DEFAULT",
    "NO_FILE",
    "Example",
    "GateExample",
    "PromptSet",
    "SelectionRules",
    "Template",
    "Text",
    "blanks_of",
    "checked_name",
    "examples",
    "files_of",
    "fill",
    "folder_here",
    "folders",
    "left_out",
    "load",
    "read",
    "read_settings",
    "read_text",
    "suited",
    "template_from",
    "words_on",
]
