"""Running calls: whatever a function does becomes a result, at its time, in its place."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import azent
from azent.runtime.calls import Execution, gathered
from azent.runtime.concurrency import DaemonThreads
from tests import odd_functions

ROOT = Path(__file__).resolve().parent.parent


def made(functions: list[Any], **more: Any) -> Execution:
    return Execution(azent.Toolbox(functions).tools, **more)


def ran(function: Any, tool_input: dict[str, Any] | None = None, **more: Any) -> azent.Result:
    """What comes of one call of a function named `f`."""
    marked = azent.tool(name="f", **more)(function)
    with made([marked], result_chars=2000) as execution:
        (result,) = gathered(execution, [azent.Call("f", tool_input or {}, id="1")])
    return result


# ---- whatever a function returns -----------------------------------------------------------------


class Cursed:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class CursedError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


def cycle() -> list[Any]:
    ring: list[Any] = [1]
    ring.append(ring)
    return ring


async def later() -> str:
    return "later"


async def streamed() -> AsyncIterator[str]:
    yield "a"
    yield "b"


async def streamed_for_ever() -> AsyncIterator[int]:
    for n in itertools.count():
        yield n


async def long_texts_for_ever() -> AsyncIterator[str]:
    while True:
        yield "x" * 100_000


def ends_midway() -> Iterator[int]:
    yield 1
    raise ValueError("boom")


RETURNED: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: None, "null"),
    "a string": (lambda: "as it is", "as it is"),
    "a tuple": (lambda: (1, "a"), '[1, "a"]'),
    "other scripts": (lambda: {"city": "北京"}, '{"city": "北京"}'),
    "bytes": (lambda: b"\x89PNG" + bytes(50_000), "(bytes, 50,004 bytes)"),
    "a cycle": (cycle, '[1, "(this contains itself)"]'),
    "a cursed object": (Cursed, "(Cursed: cannot be shown, RuntimeError)"),
    "a generator": (lambda: (n for n in range(3)), "[0, 1, 2]"),
    "an iterator": (lambda: map(str, range(3)), '["0", "1", "2"]'),
    "a coroutine": (lambda: later(), "later"),
    "an async generator": (lambda: streamed(), '["a", "b"]'),
    "a coroutine in a list": (lambda: [later()], '["(a coroutine that was not awaited)"]'),
    "a result of its own": (lambda: azent.Result("x", "mine"), "mine"),
    "an answer": (lambda: azent.Answer("mine"), "mine"),
}


@pytest.mark.parametrize("name", RETURNED)
def test_what_is_returned_is_told(name: str) -> None:
    function, text = RETURNED[name]
    result = ran(function)
    assert (result.ok, result.text, result.id) == (True, text, "1")


@pytest.mark.parametrize(
    ("function", "most"),
    [
        (itertools.count, 1001),
        (lambda: itertools.repeat("x" * 100_000), 22),
        (lambda: streamed_for_ever(), 1001),
        (lambda: long_texts_for_ever(), 22),
    ],
)
def test_what_has_no_end_is_cut_and_says_so(function: Callable[[], Any], most: int) -> None:
    result = ran(function)
    assert result.value[-1] == "... and more"
    assert len(result.value) == most
    assert len(result.text) < 4000


def test_a_huge_text_is_cut_and_says_so() -> None:
    result = ran(lambda: "x" * 10**8)
    assert len(result.text) < 2100
    assert "omitted" in result.text


def raising(error: BaseException) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


RAISED: dict[str, tuple[Callable[[], Any], str]] = {
    "an error": (raising(ValueError("boom")), "ValueError: boom"),
    "no words": (raising(KeyError()), "KeyError"),
    "an exit": (raising(SystemExit(3)), "SystemExit: 3"),
    "an interrupt of its own": (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
    "the end of an iterator": (raising(StopIteration("x")), "StopIteration: x"),
    "a timeout of its own": (raising(TimeoutError("slow")), "TimeoutError: slow"),
    "a word to the model": (raising(azent.ToolFailed("not on Sundays")), "not on Sundays"),
    "a generator that fails": (lambda: ends_midway(), "ValueError: boom"),
}


@pytest.mark.parametrize("name", RAISED)
@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_raised_is_told(name: str, is_async: bool) -> None:
    function, text = RAISED[name]

    async def twin() -> Any:
        return function()

    result = ran(twin if is_async else function)
    if name == "the end of an iterator" and is_async:
        text = "RuntimeError: coroutine raised StopIteration"  # Python's own rule
    assert (result.ok, result.text) == (False, text)


def test_an_error_that_cannot_be_shown_is_told() -> None:
    assert "CursedError" in ran(raising(CursedError())).text


def test_an_exit_in_a_tool_is_no_exit_of_the_loop() -> None:
    async def leave() -> None:
        """Leave."""
        sys.exit(3)

    async def run() -> str:
        with made([leave], loop=asyncio.get_running_loop()) as execution:
            ((future, _),) = execution.start([azent.Call("leave", {})]).items()
            return (await asyncio.wrap_future(future)).result.text

    assert asyncio.run(run()) == "SystemExit: 3"


# ---- what cannot run -----------------------------------------------------------------------------


def test_an_illegal_call_says_what_to_mend() -> None:
    problem = azent.Problem("invalid_argument", "a is no number")
    with made([odd_functions.add]) as execution:
        (result,) = gathered(execution, [azent.Call("add", {"a": "x"}, problem)])
    assert (result.ok, result.problem, result.text) == (False, problem, "a is no number")


def test_an_unknown_call_says_so() -> None:
    with made([odd_functions.add]) as execution:
        (result,) = gathered(execution, [azent.Call("sub", {})])
    assert (result.ok, result.text) == (False, "there is no function 'sub'")


def test_very_many_illegal_calls_are_no_trouble() -> None:
    calls = [azent.Call("add", {}, azent.Problem("malformed", "no"))] * 20_000
    with made([odd_functions.add]) as execution:
        assert len(gathered(execution, calls)) == 20_000


# ---- at the same time, and not -------------------------------------------------------------------


class Gauge:
    """Counts how many are inside at the same time."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0
        self.order: list[int] = []
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.now -= 1


def gauged(gauge: Gauge, is_async: bool, **options: Any) -> Any:
    def enter(n: int) -> int:
        """Enter."""
        with gauge:
            gauge.order.append(n)
            time.sleep(0.005)
        return n

    async def aenter(n: int) -> int:
        """Enter."""
        with gauge:
            gauge.order.append(n)
            await asyncio.sleep(0.005)
        return n

    return azent.tool(name="enter", **options)(aenter if is_async else enter)


def calls_of(count: int) -> list[azent.Call]:
    return [azent.Call("enter", {"n": n}) for n in range(count)]


@pytest.mark.parametrize("is_async", [False, True])
def test_no_more_than_width_at_once(is_async: bool) -> None:
    gauge = Gauge()
    with made([gauged(gauge, is_async)], width=4) as execution:
        results = gathered(execution, calls_of(40))
    assert [result.value for result in results] == list(range(40))
    assert gauge.most == 4


def test_width_is_the_most_threads_too() -> None:
    used: set[int] = set()

    def note(n: int) -> None:
        """Note the thread."""
        used.add(threading.get_ident())
        time.sleep(0.002)

    with made([note], width=4) as execution:
        gathered(execution, [azent.Call("note", {"n": n}) for n in range(100)])
    assert len(used) <= 4


@pytest.mark.parametrize("is_async", [False, True])
def test_a_serial_tool_runs_alone_and_in_order(is_async: bool) -> None:
    gauge = Gauge()
    functions = [gauged(gauge, is_async, serial=True), beside(gauge)]
    calls = [call for n in range(10) for call in (azent.Call("enter", {"n": n}), BESIDE)]
    with made(functions) as execution:
        gathered(execution, calls)
    assert gauge.most == 1
    assert gauge.order == list(range(10))


BESIDE = azent.Call("beside", {})


def beside(gauge: Gauge) -> Callable[[], None]:
    def beside() -> None:
        """Run beside it."""
        with gauge:
            time.sleep(0.001)

    return beside


@pytest.mark.parametrize("is_async", [False, True])
def test_a_serial_tool_never_overlaps_across_conversations(is_async: bool) -> None:
    gauge = Gauge()
    function = gauged(gauge, is_async, serial=True)

    def converse() -> None:
        with made([function]) as execution:
            gathered(execution, calls_of(3))

    threads = [threading.Thread(target=converse) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gauge.most == 1
    assert len(gauge.order) == 30


def test_a_serial_tool_that_hangs_does_not_hold_up_the_others_for_ever() -> None:
    release = threading.Event()

    @azent.tool(serial=True, timeout=0.1, repeatable=True)
    def hang() -> None:
        """Hang."""
        release.wait(30)

    with made([hang]) as execution:
        one, two = gathered(execution, [azent.Call("hang", {})] * 2)
    assert "time limit" in one.text
    assert "must not run beside itself" in two.text
    release.set()


def test_it_runs_again_once_the_hung_one_has_ended() -> None:
    release = threading.Event()

    @azent.tool(serial=True, timeout=0.1)
    def hang() -> str:
        """Hang the first time."""
        release.wait(30)
        return "done"

    with made([hang]) as execution:
        assert not gathered(execution, [azent.Call("hang", {})])[0].ok
        release.set()
        tries = (gathered(execution, [azent.Call("hang", {})])[0] for _ in range(1000))
        assert any(result.text == "done" for result in tries)


def test_a_serial_tool_that_outlives_its_run_does_not_hold_up_the_next() -> None:
    release = threading.Event()

    @azent.tool(serial=True)
    def hang() -> None:
        """Hang."""
        release.wait(30)

    with made([hang]) as execution:
        execution.start([azent.Call("hang", {})])
    with made([hang]) as execution:
        (result,) = gathered(execution, [azent.Call("hang", {})])
    release.set()
    assert "an earlier call of it hangs" in result.text


def test_a_serial_tool_may_call_itself() -> None:
    @azent.tool(serial=True)
    def deep(n: int) -> int:
        """Go deeper."""
        if n == 0:
            return 0
        (result,) = azent.Toolbox([deep]).run([azent.Call("deep", {"n": n - 1})])
        return 1 + int(result.value)

    assert azent.Toolbox([deep]).run([azent.Call("deep", {"n": 3})])[0].value == 3


# ---- time limits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["thread", "loop", "executor"])
def test_a_call_past_its_limit_is_reported(place: str) -> None:
    release = threading.Event()

    def hang() -> None:
        """Hang."""
        release.wait(30)

    async def ahang() -> None:
        """Hang."""
        await asyncio.sleep(30)

    function = azent.tool(name="f", timeout=0.05)(ahang if place == "loop" else hang)
    with ThreadPoolExecutor(1) as pool:
        with made([function], executor=pool if place == "executor" else None) as execution:
            (result,) = gathered(execution, [azent.Call("f", {})])
        release.set()
    assert result.text == "no result within the time limit of 0.05 s"


def test_a_tool_that_blocks_its_loop_does_not_stop_the_clock() -> None:
    release = threading.Event()

    @azent.tool(timeout=0.05)
    async def block() -> None:
        """Block the loop, as no asynchronous function should."""
        release.wait(30)

    with made([block]) as execution:
        (result,) = gathered(execution, [azent.Call("block", {})])
    release.set()
    assert "time limit" in result.text


def test_a_hung_call_makes_room_for_the_next() -> None:
    release = threading.Event()

    @azent.tool(timeout=0.05)
    def hang() -> None:
        """Hang."""
        release.wait(30)

    with made([hang, odd_functions.add], width=1) as execution:
        calls = [azent.Call("hang", {}), azent.Call("add", {"a": 1, "b": 2})]
        assert [result.ok for result in gathered(execution, calls)] == [False, True]
    release.set()


HANGING = """
import threading, azent

def hang():
    "Hang."
    threading.Event().wait()

async def ahang():
    "Hang in the loop."
    threading.Event().wait()

call = '{"tools": [{"tool": "hang", "tool_input": {}}, {"tool": "ahang", "tool_input": {}}]}'
print(azent.Agent(azent.Scripted(call), [hang, ahang], timeout=0.2).ask("?").stopped)
"""


def test_hung_calls_do_not_keep_the_program_from_ending() -> None:
    run = subprocess.run(
        [sys.executable, "-c", HANGING], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (run.stdout, run.stderr, run.returncode) == ("timeout\n", "", 0)


# ---- retries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["thread", "loop", "executor"])
def test_retries_wherever_it_runs(place: str) -> None:
    tries: list[int] = []

    def flaky() -> str:
        """Fail twice."""
        tries.append(1)
        if len(tries) < 3:
            raise OSError("not yet")
        return "at last"

    async def aflaky() -> str:
        """Fail twice."""
        return flaky()

    function = azent.tool(name="f", retries=2)(aflaky if place == "loop" else flaky)
    with (
        ThreadPoolExecutor(1) as pool,
        made([function], executor=pool if place == "executor" else None) as execution,
    ):
        assert gathered(execution, [azent.Call("f", {})])[0].text == "at last"


@pytest.mark.parametrize(
    ("error", "retries", "tries"),
    [
        (OSError("no"), 0, 1),
        (OSError("no"), 2, 3),
        (azent.ToolFailed("no"), 2, 1),
        (SystemExit(1), 2, 1),
    ],
)
def test_what_is_tried_again(error: BaseException, retries: int, tries: int) -> None:
    tried: list[int] = []

    def fail() -> None:
        tried.append(1)
        raise error

    assert not ran(fail, retries=retries).ok
    assert len(tried) == tries


def test_the_limit_holds_for_all_tries_together() -> None:
    result = ran(raising(OSError("no")), retries=50, timeout=0.3)
    assert "time limit" in result.text


# ---- places --------------------------------------------------------------------------------------

_user: contextvars.ContextVar[str] = contextvars.ContextVar("user")


@pytest.mark.parametrize("is_async", [False, True])
def test_context_variables_go_along(is_async: bool) -> None:
    def who() -> str:
        """Tell who."""
        return _user.get("nobody")

    async def awho() -> str:
        """Tell who."""
        return _user.get("nobody")

    token = _user.set("Kim")
    try:
        with made([azent.tool(name="who")(awho if is_async else who)], width=1) as execution:
            calls = [azent.Call("who", {})] * 3
            assert [result.value for result in gathered(execution, calls)] == ["Kim"] * 3
    finally:
        _user.reset(token)


class Inline(Executor):
    """Runs everything at once, in the thread that asks."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("serial", [False, True])
def test_an_executor_that_runs_inline(serial: bool) -> None:
    function = azent.tool(name="add", serial=serial)(partial(odd_functions.add))
    calls = [azent.Call("add", {"a": n, "b": 1}) for n in range(3000)]
    with made([function], executor=Inline()) as execution:
        assert [r.value for r in gathered(execution, calls)] == list(range(1, 3001))


def test_other_processes() -> None:
    functions = [
        odd_functions.process,
        odd_functions.count,
        odd_functions.leave,
        odd_functions.whoami,
        azent.tool(name="f")(lambda: 1),
    ]
    calls = [
        azent.Call("process", {}),
        azent.Call("count", {"to": 3}),
        azent.Call("leave", {}),
        azent.Call("whoami", {}),
        azent.Call("f", {}),
    ]
    with (
        ProcessPoolExecutor(1) as pool,
        made(functions, executor=pool, context="Kim") as execution,
    ):
        process, count, leave, whoami, unpicklable = gathered(execution, calls)
    assert process.value not in (None, os.getpid())
    assert count.value == [0, 1, 2]
    assert leave.text == "SystemExit: 3"
    assert whoami.value == "Kim"
    assert "pickle" in unpicklable.text


def test_an_executor_that_was_shut_down_is_told() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with made([odd_functions.add], executor=pool) as execution:
        (result,) = gathered(execution, [azent.Call("add", {"a": 1, "b": 2})])
    assert "RuntimeError" in result.text


def test_a_pool_whose_process_died_is_told() -> None:
    with ProcessPoolExecutor(1) as pool, made([odd_functions.vanish], executor=pool) as execution:
        (result,) = gathered(execution, [azent.Call("vanish", {})])
    assert "BrokenProcessPool" in result.text


# ---- run= ----------------------------------------------------------------------------------------


def elsewhere(call: azent.Call) -> azent.Result:
    return azent.Result(call.tool, "ran elsewhere")


async def elsewhere_later(call: azent.Call) -> str:
    return "ran elsewhere"


@pytest.mark.parametrize(
    "run", [elsewhere, elsewhere_later, lambda call: elsewhere_later(call), lambda call: RAN]
)
def test_another_runner(run: Any) -> None:
    with made([odd_functions.add], run=run) as execution:
        (result,) = gathered(execution, [azent.Call("add", {"a": 1, "b": 2}, id="7")])
    assert (result.tool, result.text, result.id) == ("add", "ran elsewhere", "7")


RAN = "ran elsewhere"


def test_the_toolbox_of_another_runs_what_one_only_offers() -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        raise AssertionError("only offered here")

    with made([add], run=azent.Toolbox([odd_functions.add])) as execution:
        (result,) = gathered(execution, [azent.Call("add", {"a": 1, "b": 2})])
    assert result.value == 3


def test_a_runner_keeps_to_the_tools_limits() -> None:
    release = threading.Event()
    tool = azent.tool(name="process", timeout=0.05)(partial(odd_functions.process))
    with made([tool], run=lambda call: release.wait(30)) as execution:
        (result,) = gathered(execution, [azent.Call("process", {})])
    release.set()
    assert "time limit" in result.text


# ---- the threads ---------------------------------------------------------------------------------


def test_idle_threads_are_used_again() -> None:
    with DaemonThreads() as threads:
        used = {threads.submit(threading.get_ident).result() for _ in range(20)}
        assert len(used) == 1


def test_work_after_the_end_is_refused() -> None:
    threads = DaemonThreads()
    threads.shutdown()
    with pytest.raises(RuntimeError):
        threads.submit(print)


def test_leaving_stops_what_is_out() -> None:
    cancelled = threading.Event()

    async def hang() -> None:
        """Hang."""
        try:
            await asyncio.sleep(30)
        finally:
            cancelled.set()

    begun = threading.Event()

    def begin() -> None:
        """Begin."""
        begun.set()

    with made([hang, begin]) as execution:
        hanging, _ = execution.start([azent.Call("hang", {}), azent.Call("begin", {})])
        begun.wait(10)
    assert hanging.result(10).result.text == "it was stopped"
    assert cancelled.wait(10)


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": -1.0}, {"retries": -1}], ids=lambda each: str(each)
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(azent.UsageError):
        azent.tool(**options)(partial(odd_functions.add))


ONE_LOOP = """
import threading
from azent.runtime.concurrency import LOOP, background_loop

together, loops = threading.Barrier(32), []

def want():
    together.wait()
    loops.append(background_loop())

threads = [threading.Thread(target=want) for _ in range(32)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(set(loops)), sum(thread.name == LOOP for thread in threading.enumerate()))
"""


def test_threads_that_begin_together_share_one_loop() -> None:
    command = [sys.executable, "-c", ONE_LOOP]
    for _ in range(3):
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert (run.stdout, run.stderr) == ("1 1\n", "")
