"""When a person is asked: `python examples/human_input.py`.

AutoGen's `human_input_mode` is who is asked before a function runs: nobody, by function, for every
one. Its `max_consecutive_auto_reply` is `rounds`: after so many the model has to answer.
"""

from __future__ import annotations

from typing import Literal

from currency import currency_calculator

import azent


def ask_person(call: azent.Call) -> bool:
    """Ask the person at the terminal."""
    return input(f"Run {call.tool} {call.tool_input}? [y/n] ").strip() == "y"


def main(
    model: azent.Model | str,
    approval: Literal["never", "tool", "always"] = "always",
    rounds: int = 2,
) -> azent.Answer:
    agent = azent.Agent(model, [currency_calculator], approval=approval, rounds=rounds)
    answer = agent.ask("How much is 123.45 USD in EUR?", approve=ask_person)
    print(answer.text, f"(stopped: {answer.stopped})" if answer.stopped else "")
    return answer


if __name__ == "__main__":
    main("qwen2.5-coder:1.5b")
