"""Calls in a process of their own: found there, killed at their limit, dead with their parent."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import azent
from azent.tools.files import load_tools
from tests import odd_functions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
ROOT = Path(__file__).resolve().parent.parent


def ran(function: Callable[..., Any], tool_input: dict[str, Any], **more: Any) -> azent.Result:
    context = more.pop("context", None)
    toolbox = azent.Toolbox([azent.tool(name="f", isolate=True, **more)(partial(function))])
    (result,) = toolbox.run([azent.Call("f", tool_input)], context=context)
    return result


def alive(process: int) -> bool:
    """Does a process run? One that ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def ends(process: int, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while alive(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(process)


def written(note: Path, seconds: float = 10.0) -> int:
    """The number in a file, once there is one."""
    deadline = time.monotonic() + seconds
    while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return int(note.read_text())


@pytest.mark.parametrize(
    ("function", "tool_input", "value"),
    [
        (odd_functions.add, {"a": 2, "b": 3}, 5),
        (odd_functions.move, {"point": {"x": 1, "y": 2}}, odd_functions.Point(2, 3)),
        (odd_functions.count, {"to": 3}, [0, 1, 2]),
        (odd_functions.later, {"n": 4}, 4),
        (odd_functions.stream, {"to": 2}, [0, 1]),
        (odd_functions.talk, {}, "''"),
    ],
)
def test_values_come_back(function: Any, tool_input: dict[str, Any], value: Any) -> None:
    result = ran(function, tool_input)
    assert result.ok, result.text
    assert result.value == value


@pytest.mark.parametrize(
    ("function", "tool_input", "text"),
    [
        (odd_functions.divide, {"a": 1, "b": 0}, "ZeroDivisionError: division by zero"),
        (odd_functions.refuse, {}, "not on Sundays"),
        (odd_functions.leave, {}, "SystemExit: 3"),
        (odd_functions.vanish, {}, "its process ended with exit code 7"),
        (odd_functions.crash, {}, "its process was ended by SIGSEGV"),
    ],
)
def test_failures_are_told(function: Any, tool_input: dict[str, Any], text: str) -> None:
    result = ran(function, tool_input)
    assert (result.ok, result.text) == (False, text)


def test_it_is_tried_again(tmp_path: Path) -> None:
    note = str(tmp_path / "note")
    assert ran(odd_functions.flaky, {"note": note}, retries=2).text == "at last"


def test_it_is_another_process() -> None:
    assert ran(odd_functions.process, {}).value != os.getpid()


def test_what_cannot_be_pickled_comes_back_as_text() -> None:
    assert ran(odd_functions.unpicklable, {}).text == "<unpicklable>"


def test_the_context_goes_along() -> None:
    assert ran(odd_functions.whoami, {}, context="Kim").value == "Kim"


def test_a_context_that_cannot_is_told() -> None:
    result = ran(odd_functions.whoami, {}, context=odd_functions.Unpicklable())
    assert not result.ok
    assert "not to be pickled" in result.text


def test_it_is_killed_at_its_limit(tmp_path: Path) -> None:
    note = tmp_path / "note"
    result = ran(odd_functions.hang, {"note": str(note)}, timeout=2)
    assert result.text == "no result within the time limit of 2 s"
    assert ends(written(note))


def test_so_is_one_that_hangs_in_c() -> None:
    assert not ran(odd_functions.hang_in_c, {}, timeout=1).ok


def test_what_it_started_is_killed_too(tmp_path: Path) -> None:
    note = tmp_path / "note"
    assert not ran(odd_functions.start_another, {"note": str(note)}, timeout=2).ok
    assert ends(written(note))


PARENT = """
import azent
from tests import odd_functions

hang = azent.tool(isolate=True)(odd_functions.{function})
azent.Toolbox([hang]).run([azent.Call("{function}", {{"note": {note!r}}})])
"""


@pytest.mark.parametrize("function", ["hang", "start_another"])
def test_it_dies_with_its_parent(function: str, tmp_path: Path) -> None:
    note = tmp_path / "note"
    code = PARENT.format(function=function, note=str(note))
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as parent:
        process = written(note)
        assert alive(process)
        parent.kill()
    assert ends(process)


def test_the_end_of_a_run_ends_it(tmp_path: Path) -> None:
    note = tmp_path / "note"
    hang = azent.tool(name="hang", isolate=True)(partial(odd_functions.hang))
    call = f'{{"tools": [{{"tool": "hang", "tool_input": {{"note": "{note}"}}}}]}}'
    agent = azent.Agent(azent.Scripted(call), [hang], timeout=2)
    assert agent.ask("?").stopped == "timeout"
    assert ends(written(note))


def test_a_tools_file_is_found_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("def double(n):\n    return 2 * n\n")
    file = tmp_path / "my tools.py"
    file.write_text(
        "import dataclasses, os\nimport azent\nfrom neighbour import double\n\n"
        "@dataclasses.dataclass\nclass Pair:\n    a: int\n    b: int\n\n"
        "@azent.tool(isolate=True)\ndef summed(pair: Pair) -> Pair:\n"
        "    'Sum.'\n    return Pair(double(pair.a + pair.b), os.getpid())\n"
    )
    (function,) = load_tools(str(file))
    (result,) = azent.Toolbox([function]).run([azent.Call("summed", {"pair": {"a": 1, "b": 2}})])
    assert result.ok, result.text
    assert result.value.a == 6
    assert result.value.b != os.getpid()


def test_files_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    loaded = []
    for name in ("one", "two", "one"):
        file = tmp_path / name / "tools.py"
        file.parent.mkdir(exist_ok=True)
        code = (
            f"import azent\n@azent.tool(isolate=True)\ndef which() -> str:\n    return {name!r}\n"
        )
        file.write_text(code)
        loaded += load_tools(str(file))
    toolboxes = [azent.Toolbox([function]) for function in loaded]
    ran = [toolbox.run([azent.Call("which", {})])[0].text for toolbox in toolboxes]
    assert ran == ["one", "two", "one"]


SCRIPT = """
import dataclasses
import azent

@dataclasses.dataclass
class Pair:
    a: int

@azent.tool(isolate=True)
def twice(pair: Pair) -> Pair:
    "Twice."
    return Pair(2 * pair.a)

CALL = '{"tools": [{"tool": "twice", "tool_input": {"pair": {"a": 4}}}]}'
agent = azent.Agent(azent.Scripted(CALL, '{"tools": []}', "done"), [twice])
answer = agent.ask("?")
print(answer.results[0].text, answer.results[0].value == Pair(8), answer.text)
"""


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stdout == '{"a": 8} True done\n', run.stderr


@pytest.mark.parametrize("function", [lambda: 1, odd_functions.Unpicklable().__repr__])
def test_what_no_other_process_could_find_is_refused(function: Any) -> None:
    with pytest.raises(azent.SchemaError, match="process of its own"):
        azent.Toolbox([azent.tool(name="f", isolate=True)(function)])
