"""Two agents that talk until one says TERMINATE: `python examples/talk.py`.

What one says is the other's question. Each has its own log, which is its memory. In the end a model
looks back and sums up, and the chat is there as plain dicts.
"""

from __future__ import annotations

import azent
from azent.messages import Log

END = "TERMINATE"


def talk(one: azent.Agent, other: azent.Agent, said: str, most: int = 6) -> azent.Answer:
    """Let them talk, `most` replies each at most; the answer that the talk ended with."""
    logs: dict[azent.Agent, Log] = {one: (), other: ()}
    speaker = one
    for _ in range(2 * most):
        answer = speaker.ask(said, logs[speaker])
        logs[speaker], said = answer.log, answer.text
        print(f"{'teacher' if speaker is one else 'student'}: {said}")
        if answer.stopped == "terminated":
            break
        speaker = other if speaker is one else one
    return answer


def main(model: azent.Model | str) -> str:
    teacher = azent.Agent(model, system=f"You ask easy sums. After two, say {END}.", until=END)
    student = azent.Agent(model, system="You answer in one short sentence.", until=END)
    answer = talk(teacher, student, "I am ready. Ask me.")
    print(*azent.chat_of(answer.log), sep="\n")
    return azent.summary(answer, model, prompt="Which sums were asked? One sentence.")


if __name__ == "__main__":
    print(main("qwen2.5-coder:1.5b"))
