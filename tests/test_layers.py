"""Modules import only from rows above their own, and nothing heavy or costly happens on import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "azent"
ROWS = [
    ["messages"],
    ["errors"],
    ["values"],
    ["schema", "config"],
    ["models", "sessions"],
    ["prompt"],
    ["parsing"],
    ["tools"],
    ["selection"],
    ["conversation"],
    ["runtime"],
    ["agent"],
    ["workflows", "lab", "serve", "mcp", "batch", "testing"],
    ["cli"],
]
ROW_OF = {module: row for row, modules in enumerate(ROWS) for module in modules}
FILES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem[0] != "_"
)


def part_of(dotted: str) -> str | None:
    """The part of azent that a module belongs to: azent.models.ollama is of `models`."""
    names = dotted.split(".")
    return names[1] if names[0] == "azent" and len(names) > 1 else None


def imports_of(path: Path) -> set[str]:
    """The parts of azent that a file imports, type-checking imports included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(part for alias in node.names if (part := part_of(alias.name)))
        elif isinstance(node, ast.ImportFrom) and node.module == "azent":
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (part := part_of(node.module or "")):
            found.add(part)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_from_rows_above(path: Path) -> None:
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    assert own in ROW_OF, f"{own} has no row: give it one here and in the design"
    for other in imports_of(path) - {own, "__version__"}:
        below = ROW_OF[other] < ROW_OF[own]
        typing_only = (own, other) == ("errors", "messages")
        assert below or typing_only, f"{path.name} of row {ROW_OF[own]} imports {other}"


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("azent", ["azent.messages", "typer", "rich", "pydantic", "ollama", "asyncio"]),
        (
            "azent.cli",
            ["azent.messages", "rich", "prompt_toolkit", "pydantic", "ollama", "asyncio"],
        ),
    ],
)
def test_import_is_light(module: str, heavy: list[str]) -> None:
    code = f"import sys, {module}; print(*(name for name in {heavy!r} if name in sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ""
