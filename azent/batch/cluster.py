"""Answer questions on a Dask cluster, each of whose workers asks the model server beside it.

Open models cannot be sent to the workers, so a function that makes the agent is sent, and called
there. A worker whose model server does not answer gets no questions for a while. When a worker
dies, Dask gives its questions to another one; each answer is still written once.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from typing import Any, TypeAlias

from azent.agent import Agent
from azent.batch.workers import Ask, ConcurrencyLimit, Server, asking
from azent.errors import ModelUnreachable, UsageError
from azent.runtime.isolation import check_sendable
from azent.runtime.toolbox import Toolbox
from azent.tools.files import IN_A_FILE
from azent.values.arguments import whole

AVOIDED_SECONDS = 30.0
QUESTIONS_A_THREAD = 2  # so that a worker has the next one when it has answered one

Client: TypeAlias = Any  # distributed.Client, whose methods have no types
MakeAgent: TypeAlias = Callable[[], Agent]


def cluster_server(client: Client, make_agent: MakeAgent, *, parallel: int | None = None) -> Server:
    """Make a cluster a server of a batch; it is asked `parallel` questions, or two per thread.

    `make_agent` is called once on each worker. Raises SchemaError that names a tool which cannot be
    sent to a worker, and UsageError if `make_agent` cannot be sent or the cluster has no workers.
    """
    import cloudpickle

    wanted = None if parallel is None else whole("parallel", parallel, 1)
    toolbox = make_agent().toolbox
    _send_code_of_files(toolbox)
    check_sendable(cloudpickle.dumps, toolbox)
    try:
        payload = cloudpickle.dumps(make_agent)
    except Exception as error:
        hint = "It must not hold open models, files or locks: open them inside of it."
        raise UsageError(f"what makes the agent cannot be sent: {error}", hint) from error
    threads = sum(client.nthreads().values())
    if not threads:
        raise UsageError("the Dask cluster has no workers", "Start some: dask worker ADDRESS.")
    place = str(client.scheduler.address) if client.scheduler else "?"
    count = wanted or QUESTIONS_A_THREAD * threads
    ask, limit = _Cluster(client, payload, place), ConcurrencyLimit(count, fixed=count)
    return Server(f"the cluster at {place}", ask, limit)


def _send_code_of_files(toolbox: Toolbox) -> None:
    """Pickle functions of tools files with their code: workers cannot import these files."""
    import cloudpickle

    for module in {getattr(tool.function, "__module__", None) or "" for tool in toolbox}:
        if module.startswith(IN_A_FILE):
            cloudpickle.register_pickle_by_value(sys.modules[module])


class _Cluster:
    """Asks a question on a worker, if possible on one whose model server was up lately."""

    def __init__(self, client: Client, payload: bytes, place: str) -> None:
        self._client = client
        self._payload = payload
        self._place = place
        self._avoided: dict[str, float] = {}

    def __call__(self, question: str) -> Mapping[str, Any]:
        """Return the record of the answer. Raises what the agent raises, and ModelUnreachable."""
        while True:
            future = self._submit(question)
            try:
                worker, record, error = future.result()
            except (OSError, CancelledError) as gone:  # of the cluster, not of the agent
                raise ModelUnreachable(f"the cluster at {self._place} is gone") from gone
            if error is None:
                return dict(record)
            if not isinstance(error, ModelUnreachable) or self._avoid(worker):
                raise error

    def _submit(self, question: str) -> Any:
        now = time.monotonic()
        avoided = {worker for worker, until in self._avoided.items() if until > now}
        preferred = [worker for worker in self._client.nthreads() if worker not in avoided]
        where = {"workers": preferred, "allow_other_workers": True} if avoided else {}
        return self._client.submit(_answer_there, self._payload, question, pure=False, **where)

    def _avoid(self, worker: str) -> bool:
        """Avoid a worker for a while. Returns whether all workers are avoided now."""
        now = time.monotonic()
        self._avoided[worker] = now + AVOIDED_SECONDS
        fine = (w for w in self._client.nthreads() if self._avoided.get(w, 0) <= now)
        return next(fine, None) is None


# ---- on the workers ------------------------------------------------------------------------------


def _answer_there(payload: bytes, question: str) -> tuple[str, dict[str, Any], Exception | None]:
    """Ask the agent; return the worker's address with the record or the agent's error."""
    from distributed import get_worker

    try:
        return get_worker().address, dict(_asking(payload)(question)), None
    except Exception as error:
        return get_worker().address, {}, error


@functools.lru_cache(maxsize=2)
def _asking(payload: bytes) -> Ask:
    import cloudpickle

    make_agent: MakeAgent = cloudpickle.loads(payload)
    return asking(make_agent())
