"""`azent tools`: what a model is shown, what to mend, and a call by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from azent.cli import app

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
CURRENCY = str(EXAMPLES / "currency.py")
ARITHMETIC = str(EXAMPLES / "arithmetic.py")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["tools", *words])


def written(folder: Path, code: str) -> str:
    file = folder / "mine.py"
    file.write_text(code, "utf-8")
    return str(file)


def test_list() -> None:
    done = run("list", ARITHMETIC)
    assert done.stdout.splitlines() == [
        "add       Add two numbers.",
        "multiply  Multiply two numbers.",
    ]
    assert json.loads(run("list", ARITHMETIC, "--json").stdout) == ["add", "multiply"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('__all__ = ["g"]', "mine.py: there is no function 'g'"),
        ('g = 3\n__all__ = ["g"]', "mine.py: there is no function 'g'"),
        ('__all__ = "g"', "mine.py: __all__ is 'g'"),
        ("__all__ = 3", "mine.py: __all__ is 3"),
        ("__all__ = [3]", "mine.py: __all__ is [3]"),
        ("import nowhere", "mine.py does not import: ModuleNotFoundError"),
    ],
)
def test_a_file_that_offers_what_it_has_not(tmp_path: Path, code: str, said: str) -> None:
    own = "def f() -> None: ...\ndef _hidden() -> None: ...\n"
    done = run("list", written(tmp_path, f"{own}{code}\n"))
    assert done.exit_code == 7
    assert said in done.stderr
    assert "_hidden" not in done.stderr
    assert "azent_tools_" not in done.stderr


@pytest.mark.parametrize("name", ["nowhere", "nowhere.at.all", "json.nowhere"])
def test_a_module_that_is_not_there(name: str) -> None:
    done = run("list", name)
    assert done.exit_code == 7
    assert f"there is no file or module '{name}'" in done.stderr


@pytest.mark.parametrize(
    ("style", "begins"),
    [
        ("json", '{"name": "currency_calculator"'),
        ("typescript", "// Currency exchange calculator."),
        ("python", "currency_calculator(base_amount: float"),
    ],
)
def test_show(style: str, begins: str) -> None:
    assert run("show", CURRENCY, "--as", style).stdout.startswith(begins)


def test_show_in_a_style_that_there_is_not() -> None:
    done = run("show", CURRENCY, "--as", "xml")
    assert done.exit_code == 2
    assert "python" in done.stderr


@pytest.mark.parametrize(
    ("code", "options", "exit_code", "said"),
    [
        (
            'def f(a: int) -> int:\n    """Do it.\n\n    Args:\n        a: How often.\n    """\n',
            [],
            0,
            "",
        ),
        ("def f(a: int) -> int:\n    return a\n", [], 1, "error: f:"),
        ('def f(a: int) -> int:\n    """Do it."""\n', [], 0, "warning: f.a:"),
        ('def f(a: int) -> int:\n    """Do it."""\n', ["--strict"], 1, "warning: f.a:"),
    ],
)
def test_check(tmp_path: Path, code: str, options: list[str], exit_code: int, said: str) -> None:
    done = run("check", written(tmp_path, code), *options)
    assert done.exit_code == exit_code
    assert done.stdout.startswith(said)


def test_check_as_json(tmp_path: Path) -> None:
    done = run("check", written(tmp_path, "def f(a: int) -> int:\n    return a\n"), "--json")
    rules = [(found["tool"], found["rule"]) for found in json.loads(done.stdout)]
    assert ("f", "no-description") in rules


def test_a_call_is_checked_and_coerced_as_a_models() -> None:
    done = run("call", CURRENCY, "currency_calculator", '{"base_amount": "123.45"}')
    assert (done.exit_code, done.stdout) == (0, "112.23 EUR\n")


@pytest.mark.parametrize(
    ("name", "tool_input", "exit_code", "said"),
    [
        ("currency_calculator", '{"base_amount": "x"}', 1, "$.base_amount"),
        ("currency_calculator", '{"base_amount": ', 2, "not JSON"),
        ("currency_calculator", "[1]", 2, "not a JSON object"),
        ("nonsense", "{}", 7, "currency_calculator"),
    ],
)
def test_a_call_that_cannot_be(name: str, tool_input: str, exit_code: int, said: str) -> None:
    done = run("call", CURRENCY, name, tool_input)
    assert done.exit_code == exit_code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_input_of_any_depth_is_told() -> None:
    done = run("call", ARITHMETIC, "add", "[" * 100_000)
    assert done.exit_code == 2
    assert len(done.stderr) < 200


def test_a_function_that_fails(tmp_path: Path) -> None:
    done = run("call", written(tmp_path, "def f():\n    raise ValueError('boom')\n"), "f", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout) == {"ok": False, "text": "ValueError: boom", "problem": None}
