"""Models chosen by tag from a list, and replies kept on disk: `python examples/profiles.py`.

The list is what AutoGen calls an OAI_CONFIG_LIST: JSON, in a file or an environment variable. The
first model that matches is asked, the next one where that fails. The second run asks nobody.
"""

from __future__ import annotations

import json
from pathlib import Path

from arithmetic import add

import azent
from azent.models.profiles import open_profiles, profiles_from_json

PROFILES = json.dumps(
    [
        {"model": "qwen3:8b", "tags": ["large"]},
        {"model": "qwen2.5-coder:1.5b", "tags": ["small", "local"]},
        {"model": "qwen2.5-coder:0.5b", "tags": ["small", "local"]},
    ]
)


def main(profiles: str = PROFILES, cache: Path = Path("replies.db")) -> azent.Answer:
    chosen = profiles_from_json(profiles, {"tags": ["small"]})
    print("chosen:", *(profile.model for profile in chosen))
    model = azent.Cached(open_profiles(chosen), cache)
    answer = azent.Agent(model, [add]).ask("What is 2123 + 2321?")
    print(answer.text)
    return answer


if __name__ == "__main__":
    main()
