"""An agent with states: `python examples/order_states.py`.

Each state has its own system text and tools. The model goes on to the desk when it knows what the
customer wants; a function sends those to a person whose refund is too large.
"""

from __future__ import annotations

import azent


def find_order(number: int) -> str:
    """Find an order by its number."""
    return f"Order {number}: a kettle for 49 euros, delivered yesterday, broken."


def is_large(answer: azent.Answer) -> bool:
    """Is there talk of more money than the desk may pay?"""
    return any("1000 euros" in result.text for result in answer.results)


def shop(model: azent.Model | str) -> azent.States:
    """The states that a customer goes through."""
    return azent.States(
        model,
        [
            azent.State("welcome", "You greet customers of a shop.", to={"desk": None}),
            azent.State(
                "desk", "You solve problems.", [find_order], to={"person": is_large}, about="orders"
            ),
            azent.State("person", "You say that a person will call back."),
        ],
    )


def main(model: azent.Model | str) -> azent.Answer:
    states = shop(model)
    print(states)
    answer = states.ask("My order number 17 arrived broken. What did I order?")
    print(f"[{states.state_of(answer.log)}] {answer.text}")
    return answer


if __name__ == "__main__":
    main("qwen2.5-coder:1.5b")
