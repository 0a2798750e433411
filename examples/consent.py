"""A person has the last word: `python examples/consent.py "Pay Kim 20 euros for lunch"`.

Before money moves the person is asked, and says yes, no, another amount, or why not. At the end
they may go on. This is what AutoGen calls the human input mode.
"""

from __future__ import annotations

import sys

import azent


@azent.tool(confirm=True)
def pay(name: str, euros: float) -> str:
    """Pay someone."""
    return f"paid {euros:.2f} euros to {name}"


def approve(call: azent.Call) -> object:
    """Ask the person at the terminal."""
    said = input(f"{call.tool} {call.tool_input}? [yes, an amount, or why not] ").strip()
    if said in ("y", "yes"):
        return True
    try:
        return {**call.tool_input, "euros": float(said)}
    except ValueError:
        return said  # goes to the model; where nothing was said, it is a plain no


def converse(agent: azent.Agent, question: str) -> azent.Answer:
    """Answer a question, and whatever the person says after that."""
    answer = agent.ask(question, approve=approve)
    print(answer.text)
    while more := input("(enter to end) "):
        answer = agent.ask(more, answer.log, approve=approve)
        print(answer.text)
    return answer


if __name__ == "__main__":
    converse(azent.Agent("qwen2.5-coder:1.5b", [pay]), " ".join(sys.argv[1:]))
