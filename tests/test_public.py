"""What `azent` exports, and where type checkers and the lazy import look for it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import azent
from azent import errors

SOURCE = Path(azent.__file__).read_text("utf-8")


def imports_for_type_checkers() -> dict[str, str]:
    """Each name that is imported under TYPE_CHECKING, and its module."""
    (block,) = [
        node
        for node in ast.parse(SOURCE).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    ]
    froms = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in froms for alias in node.names}


def test_the_three_lists_of_names_agree() -> None:
    homes = {name: f"azent.{home}" for home, names in azent._HOMES.items() for name in names}
    assert imports_for_type_checkers() == homes
    assert sorted(azent.__all__) == sorted(homes)


@pytest.mark.parametrize("name", azent.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(azent, name).__doc__


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        azent.nonsense  # noqa: B018


def error_classes() -> list[type[errors.AzentError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type)]
    return [each for each in found if issubclass(each, errors.AzentError)]


def test_the_drawn_tree_of_errors_is_the_real_one() -> None:
    drawn = re.findall(r"^ +[├└│─ ]*(\w+) ", errors.__doc__ or "", re.M)
    assert drawn == [each.__name__ for each in sorted_as_drawn(errors.AzentError)]


def sorted_as_drawn(root: type[errors.AzentError]) -> list[type[errors.AzentError]]:
    """A class and those under it: those without any of their own first, as in the drawing."""
    own = [each for each in error_classes() if each.__base__ is root or root in each.__bases__]
    own.sort(key=lambda each: bool(each.__subclasses__()))
    return [root, *(deeper for each in own for deeper in sorted_as_drawn(each))]


def test_every_error_is_public() -> None:
    assert {each.__name__ for each in error_classes()} <= set(azent.__all__)
