"""An MCP server that answers whatever it is told to, however wrong: python -m tests.raw_mcp_server.

Its argument is a file of JSON: {"tools": [...], "results": {tool: result}, "noise": [line, ...]}.
The lines of noise are written to standard output before each answer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "raw", "version": "1"},
}


def answer(script: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """The result of a request, or the error of a method that is not known."""
    results = {"initialize": HELLO, "tools/list": {"tools": script.get("tools", [])}}
    if asked["method"] in results:
        return {"result": results[asked["method"]]}
    if asked["method"] == "tools/call":
        return {"result": script["results"][asked["params"]["name"]]}
    return {"error": {"code": -32601, "message": "no such method"}}


def main(file: str) -> None:
    script = json.loads(Path(file).read_text("utf-8"))
    for line in sys.stdin:
        asked = json.loads(line)
        for noise in script.get("noise", ()):
            sys.stdout.buffer.write(noise.encode("latin-1") + b"\n")
        if "id" in asked:
            said = {"jsonrpc": "2.0", "id": asked["id"], **answer(script, asked)}
            sys.stdout.buffer.write(json.dumps(said).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
