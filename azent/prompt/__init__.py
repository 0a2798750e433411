"""Prompts as files that people edit: texts with blanks, and folders of them.

load, suited, read     choose a prompt set, and read it
folders                all sets that can be named
folder_here, words_on  sets in the current folder, which the user is told of
left_out               errors of broken sets that nobody named
files_of               a set as the files that it is read from
fill, blanks_of        a text with its blanks filled; the names of its blanks
Template               a text as a function, whose parameters are the blanks
examples               examples of requests and calls, made of the functions themselves
"""

from __future__ import annotations

from azent.prompt.examples import Example, examples
from azent.prompt.files import checked_name, files_of, read_settings
from azent.prompt.sets import (
    DEFAULT,
    folder_here,
    folders,
    left_out,
    load,
    read,
    suited,
    words_on,
)
from azent.prompt.text import NO_FILE, Template, Text, blanks_of, fill, read_text, template_from
from azent.prompt.value import GateExample, PromptSet, SelectionRules

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
