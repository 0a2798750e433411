"""A chain of prompts, a model and functions: `python examples/prompt_chain.py`.

What comes out of one step goes into the next. A chain is a function too, so an agent can call it.
"""

from __future__ import annotations

import azent


def first_line(text: str) -> str:
    """Keep the first line of a text."""
    return text.strip().splitlines()[0]


def main(model: azent.Model | str) -> str:
    opened = azent.open_model(model)
    chain = (
        azent.Chain("Name one famous dish of $country. Reply with its name alone.")
        | opened
        | first_line
        | "Write one sentence in the style of a $style on how $dish tastes."
        | opened
    )
    for event in chain.stream(country="Italy", style="pirate"):
        match event:
            case azent.StepFinished(name, value, seconds):
                print(f"[{name}, {seconds:.1f} s] {value}")
            case azent.Answer(text):
                return text
    raise AssertionError("the last event is an answer")


if __name__ == "__main__":
    main("qwen2.5-coder:1.5b")
