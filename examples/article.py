"""Function calling from scratch, step by step, as the article has it: `python examples/article.py`.

Introspect the functions, let the model select, run what it selected in parallel, feed back what
came of it. An Agent does all this in one go; here is each step by itself.
"""

from __future__ import annotations

import json

from weather import get_weather

import azent

QUESTION = "What's the weather in London, UK and in Oslo, Norway?"


def main(model: azent.Model | str) -> str:
    print(json.dumps(azent.function_to_json(get_weather), indent=2))
    selected = azent.select(QUESTION, [get_weather], model)
    print("selected:", *(f"{call.tool} {call.tool_input}" for call in selected.calls))
    results = azent.Toolbox([get_weather]).run(selected.calls)
    told = "\n".join(f"{result.tool}: {result.text}" for result in results)
    answer = azent.Agent(model).ask(f"{QUESTION}\nThis is known:\n{told}\nAnswer from it.")
    print(answer.text)
    return answer.text


if __name__ == "__main__":
    main("qwen2.5-coder:1.5b")
