"""Who offers a function, and who runs it: `python examples/two_agents.py`.

In AutoGen's notebook on tool use an assistant is told of a function that its user's proxy runs.
Here the clerk is shown the currency calculator, and the desk runs it; the manager asks the clerk as
if the clerk were a function.
"""

from __future__ import annotations

from currency import currency_calculator

import azent

MODEL = "qwen2.5-coder:1.5b"


def team(model: str | azent.Scripted = MODEL) -> azent.Agent:
    """The manager, who can ask the clerk."""
    desk = azent.Toolbox([currency_calculator])
    clerk = azent.Agent(model, [currency_calculator], run=desk)
    ask_clerk = clerk.as_tool(
        name="ask_clerk", description="Ask the clerk to convert money: USD to EUR."
    )
    return azent.Agent(model, [ask_clerk])


def main() -> None:
    answer = team().ask("How much is 123.45 USD in EUR?")
    for result in answer.results:
        print(f"{result.tool}: {result.text} (it made {len(result.value.calls)} calls)")
    print(answer.text)


if __name__ == "__main__":
    main()
