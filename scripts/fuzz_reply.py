"""Throw texts at the reader, guided by what code they reach, and stop at the first that breaks it.

    python scripts/fuzz_reply.py [--seconds N] [CORPUS_FOLDER]

Needs atheris (`pip install atheris`; it has wheels for Linux). A text breaks the reader when
reading raises, when reading it in pieces gives another reply, or when a call of a tool that was not
offered is legal. What is found belongs into tests/test_reading.py, as a case for its whole kind.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("corpus", nargs="*", help="folders with texts to begin from")
    options = parser.parse_args()
    try:
        import atheris  # type: ignore[import-untyped]  # it has no stubs
    except ImportError:
        sys.exit("fuzz_reply: atheris is absent; pip install atheris")

    with atheris.instrument_imports(include=["azent"]):
        from azent.reply import Reader, read, read_words
    from tests.test_reply_properties import FRAGMENTS, SPECS

    def try_one(data: bytes) -> None:
        provider = atheris.FuzzedDataProvider(data)
        reason = provider.PickValueInList(["stop", "length"])
        parts: list[str] = []
        while provider.remaining_bytes() and len(parts) < 12:
            known = provider.ConsumeBool()
            part = provider.PickValueInList(FRAGMENTS) if known else provider.ConsumeUnicode(6)
            parts.append(part)
        reply = read("".join(parts), SPECS, done_reason=reason)
        assert all(call.tool in SPECS for call in reply.calls if call.problem is None)
        reader = Reader(SPECS)
        for part in parts:
            reader.feed(part)
        assert reader.close(reason) == reply
        read_words("".join(parts))

    arguments = [sys.argv[0], f"-max_total_time={options.seconds}", "-timeout=10", *options.corpus]
    atheris.Setup(arguments, try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
