"""LlamaIndex's workflow of a function calling agent: `python examples/workflow.py`.

There it is five steps that hand events to each other; here it is one agent. Its events are the
trace, its words are streamed, its log is the memory, its results are the sources.
"""

from __future__ import annotations

from arithmetic import add, multiply

import azent
from azent.messages import Log


def run(agent: azent.Agent, question: str, log: Log = ()) -> azent.Answer:
    """Ask, with every step shown as it happens."""
    for event in agent.stream(question, log):
        match event:
            case azent.Asking(move, number):
                print(f"[request {number}: {move}]")
            case azent.CallStarted(call):
                print(f"[calling {call.tool} {call.tool_input}]")
            case azent.CallFinished(call, result):
                print(f"[{call.tool} gave {result.text}]")
            case azent.Chunk(text):
                print(text, end="", flush=True)
            case azent.Answer() as answer:
                print()
    return answer


def main(model: azent.Model | str) -> azent.Answer:
    agent = azent.Agent(model, [add, multiply], timeout=120)
    first = run(agent, "My name is Logan. What is (2123 + 2321) * 312?")
    second = run(agent, "What is my name?", first.log)
    print("sources:", *(f"{result.tool}: {result.text}" for result in first.results))
    return second


if __name__ == "__main__":
    main("qwen2.5-coder:1.5b")
