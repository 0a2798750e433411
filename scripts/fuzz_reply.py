"""Throw texts at the reader, guided by what code they reach, and stop at the first that breaks it.

    python scripts/fuzz_reply.py [--seconds N] [--words] [FOLDER_OR_FILE ...]

Begins from the replies in tests/cases, and from the texts of a folder where one is named; new ones
that reach something are kept there. A text that breaks the reader is written to a file `crash-...`;
a file alone is tried again.

A text breaks the reader when reading raises or takes seconds, when reading it in pieces gives
another reply, or when a call of a tool that was not offered is legal; with `--words` also when the
words or the reasoning shown on the way are not those of the reply. What is found belongs into
tests/test_reading.py or tests/test_reader.py, as a case for its whole kind.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

LONGEST = 4000  # bytes of a text: replies that are longer have nothing new in them
SLOWEST = 10  # seconds for one text
# Words that were shown turn out to be reasoning where its end comes without its beginning.
LATE_END = re.compile(
    r"</(?i:seed:think|think|thinking|thoughts?|reasoning|reflection|scratchpad)>|\[/THINK\]|◁/think▷|<channel\|>|<unused95>"
    r"|<\|close\|>think|<\|(?:end_of_thought|END_THINKING)\|>"
)


def main() -> None:
    """Fuzz for as long as the command line says; ends with an error where something was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--words", action="store_true", help="compare what was shown, too")
    parser.add_argument("corpus", nargs="*", help="folders with texts to begin from, or one file")
    options = parser.parse_args()
    if not _has_wheel():
        print("fuzz_reply: left out, atheris has wheels for Linux on x86-64 and Python to 3.13")
        return
    with tempfile.TemporaryDirectory(prefix="azent-fuzz-") as scratch:
        # In a process of its own: the fuzzer ends the one it runs in, and nothing tidies up there.
        child = os.fork()
        if child == 0:
            _fuzz(options, Path(scratch))
        _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


def _has_wheel() -> bool:
    here = (sys.platform, platform.machine())
    return here == ("linux", "x86_64") and sys.version_info < (3, 14)


def _watch_the_reader() -> None:
    """Has to come before anything else imports the reader: it counts what code is reached."""
    import atheris

    with atheris.instrument_imports(include=["azent"]):
        import azent.parsing.reader  # noqa: F401


def _arguments(options: argparse.Namespace, scratch: Path) -> list[str]:
    limits = [f"-max_total_time={options.seconds}", f"-max_len={LONGEST}", f"-timeout={SLOWEST}"]
    quiet = ["-verbosity=0", "-print_final_stats=1"]
    again = any(Path(given).is_file() for given in options.corpus)
    return [*limits, *quiet, *options.corpus, *([] if again else _beginnings(scratch))]


def _beginnings(scratch: Path) -> list[str]:
    """The arguments for texts to begin from, and for the words that texts are made of."""
    from tests.reading import CASES
    from tests.test_reply_properties import FRAGMENTS

    seeds = scratch / "seeds"
    seeds.mkdir()
    for file in (CASES / "parse.jsonl", CASES / "replies.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            text = json.loads(line).get("text", "").encode("utf-8", "replace")
            (seeds / f"{zlib.crc32(text):08x}").write_bytes(text)
    words = scratch / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in FRAGMENTS), "ascii")
    return [str(seeds), f"-dict={words}"]


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


def _fuzz(options: argparse.Namespace, scratch: Path) -> None:
    """Does not return: the fuzzer ends the process."""
    import atheris

    _watch_the_reader()
    from azent.parsing.answers import read_words
    from azent.parsing.reader import Reader, read
    from tests.reading import specs
    from tests.test_reply_properties import SPECS

    offered = {**specs(), **SPECS}

    def try_one(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        rng = random.Random(zlib.crc32(data))
        reason = rng.choice(["stop", "length"])
        reply = read(text, offered, done_reason=reason)
        assert all(call.tool in offered for call in reply.calls if call.problem is None)
        read_words(text, done_reason=reason)
        reader = Reader(offered)
        shown = thought = ""
        for piece in _pieces(text, rng):
            assert reader.feed(piece) == []
            shown += reader.words()
            thought += reader.thoughts()
        assert reader.close(reason) == reply
        shown += reader.words()
        thought += reader.thoughts()
        if options.words and not LATE_END.search(text):
            assert shown.strip() == reply.text
            assert thought.strip() == reply.thinking

    atheris.Setup([sys.argv[0], *_arguments(options, scratch)], try_one)
    atheris.Fuzz()


def _pieces(text: str, rng: random.Random) -> list[str]:
    marks = sorted(rng.randrange(len(text) + 1) for _ in range(rng.randrange(12)))
    return [text[a:b] for a, b in zip([0, *marks], [*marks, len(text)], strict=True)]


if __name__ == "__main__":
    main()
