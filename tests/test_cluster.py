"""A real Dask cluster of worker processes: batches on it, tools on it, and a worker that dies."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import azent
from azent.batch import Progress, cluster_server, run_batch
from azent.cli import app
from azent.messages import Delta, End, Request
from tests.scripted_ollama import Say, ScriptedOllama
from tests.serving import calls_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")


class Slow:
    """A model that answers with the process it is in, after a moment."""

    name, num_ctx = "slow", None

    def stream(self, request: Request) -> Iterator[Delta | End]:
        time.sleep(0.02)
        yield Delta(f"process {os.getpid()}")
        yield End()


class Nowhere:
    """A model whose server answers on one worker alone."""

    name, num_ctx = "nowhere", None

    def __init__(self, worker: str) -> None:
        self.worker = worker

    def stream(self, request: Request) -> Iterator[Delta | End]:
        if distributed.get_worker().address != self.worker:
            raise azent.ModelUnreachable("nobody home")
        yield Delta("here")
        yield End()


def make_agent() -> azent.Agent:
    return azent.Agent(Slow())


def make_agent_for(worker: str) -> azent.Agent:
    return azent.Agent(Nowhere(worker))


def where() -> int:
    """Tell the process."""
    return os.getpid()


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    cluster = distributed.LocalCluster(
        n_workers=3, threads_per_worker=2, processes=True, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    questions = tmp_path / "questions.jsonl"
    lines = [json.dumps({"id": n, "question": f"word {n}"}) for n in range(150)]
    questions.write_text("\n".join(lines), "utf-8")
    return questions, tmp_path / "answers.jsonl"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_worker_dies_in_the_middle_and_every_question_is_answered_once(
    client: Any, files: tuple[Path, Path]
) -> None:
    victim = next(iter(client.run(os.getpid).values()))

    def watch(progress: Progress, said: Any) -> None:
        if progress.answered == 50:
            os.kill(victim, signal.SIGKILL)

    progress = run_batch(*files, [cluster_server(client, make_agent)], watch=watch)
    answers = read(files[1])
    assert (progress.answered, progress.failed) == (150, 0)
    assert sorted(answer["id"] for answer in answers) == list(range(150))
    processes = {answer["answer"] for answer in answers}
    assert len(processes) >= 3
    assert f"process {victim}" in processes
    assert f"process {os.getpid()}" not in processes


def test_a_worker_without_a_model_server_is_avoided(client: Any, files: tuple[Path, Path]) -> None:
    alive = next(iter(client.nthreads()))
    progress = run_batch(*files, [cluster_server(client, partial(make_agent_for, alive))])
    assert (progress.answered, progress.failed) == (150, 0)


def test_where_no_worker_has_a_model_server_it_ends(client: Any, files: tuple[Path, Path]) -> None:
    with pytest.raises(azent.ModelUnreachable, match="nobody home"):
        run_batch(*files, [cluster_server(client, partial(make_agent_for, "none"))])


def test_tools_run_on_the_cluster(client: Any) -> None:
    model = azent.Scripted(calls_text(("where", {})), "There.")
    answer = azent.Agent(model, [where], executor=client.get_executor()).ask("Where?")
    assert int(answer.results[0].text) in client.run(os.getpid).values()


def test_the_command_sends_tools_of_a_file(
    client: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    tools = tmp_path / "mine.py"
    tools.write_text(
        'import os\n\ndef where() -> int:\n    """Tell the process."""\n    return os.getpid()\n',
        "utf-8",
    )
    files[0].write_text('{"id": 1, "question": "Where?"}', "utf-8")
    address = client.scheduler.address
    with ScriptedOllama(Say(calls_text(("where", {}))), "There.") as server:
        place = ["-m", "scripted", "--host", server.url, "--dask", address]
        words = ["batch", str(files[0]), "-o", str(files[1]), *place, "-t", str(tools)]
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    (record,) = read(files[1])
    assert int(record["results"][0]["text"]) in client.run(os.getpid).values()


# ---- what cannot be ------------------------------------------------------------------------------


def test_a_tool_that_cannot_be_sent_is_named_before_anything_starts(client: Any) -> None:
    lock = threading.Lock()

    def holder() -> str:
        """Tell of a lock."""
        return str(lock)

    model = azent.Scripted()
    with pytest.raises(azent.SchemaError, match="holder cannot be sent"):
        azent.Agent(model, [where, holder], executor=client.get_executor())
    with pytest.raises(azent.SchemaError, match="holder cannot be sent"):
        cluster_server(client, lambda: azent.Agent(Slow(), [holder]))
    with pytest.raises(azent.UsageError, match="cannot be sent"):
        cluster_server(client, lambda: azent.Agent(Slow(), system=str(lock)))


def test_a_pool_of_processes_wants_tools_that_can_be_sent() -> None:
    def local() -> str:
        """Be local."""
        return ""

    with ProcessPoolExecutor(1) as processes, ThreadPoolExecutor(1) as threads:
        azent.Agent(azent.Scripted(), [where], executor=processes)
        azent.Agent(azent.Scripted(), [local], executor=threads)
        with pytest.raises(azent.SchemaError, match="local cannot be sent"):
            azent.Agent(azent.Scripted(), [local], executor=processes)


def test_no_scheduler_answers(files: tuple[Path, Path]) -> None:
    words = ["batch", str(files[0]), "-o", str(files[1]), "-m", "m", "--dask", "tcp://127.0.0.1:9"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == azent.ModelUnreachable.exit_code
    assert "no Dask scheduler" in done.stderr
