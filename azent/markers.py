"""The special tokens by which chat templates mark roles, and a way to escape them.

A tokenizer turns such text into the special token wherever it stands, so a token inside a tool's
result could end the result and begin a message of the system or the user.
"""

from __future__ import annotations

import re

# The marks of each family of templates; of those that are made of bars, the bars suffice.
FAMILIES: dict[str, tuple[str, ...]] = {
    "ChatML, Llama 3 and 4, Phi, gpt-oss, Kimi, Granite, Cohere, Gemma 4": ("<|", "</|", "|>"),
    "DeepSeek": ("<｜", "</｜", "｜>"),
    "sentence ends": ("<s>", "</s>", "<bos>", "<eos>", "<pad>", "<unk>", "<sep>"),
    "Llama 2": ("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),
    "Mistral": (
        *("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
        *("[TOOL_CALLS]", "[/TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]"),
        *("[MODEL_SETTINGS]", "[/MODEL_SETTINGS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"),
        *("[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[IMG]", "[IMG_BREAK]", "[IMG_END]"),
        *("[AUDIO]", "[BEGIN_AUDIO]"),
    ),
    "Gemma": (
        *("<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>"),
        *("<image_soft_token>", "<audio_soft_token>", "<unused", "<escape>"),
        *("<start_function_", "<end_function_"),
    ),
    "Qwen, Hermes, GLM, LFM": (
        *("<think>", "</think>", "<tools>", "</tools>", "<tool_call>", "</tool_call>"),
        *("<tool_response>", "</tool_response>", "<arg_key>", "</arg_key>"),
        *(
            "<arg_value>",
            "</arg_value>",
            "<function=",
            "</function>",
            "<parameter=",
            "</parameter>",
        ),
        *("<tool_calls>", "</tool_calls>", "<function_calls>", "</function_calls>"),
        *("<function_results>", "</function_results>", "<invoke ", "</invoke>", "<parameter "),
    ),
    "GLM": ("[gMASK]", "[sMASK]", "<sop>", "<eop>"),
    "MiniMax": (
        *("]~b]", "]~!b[", "[e~[", "]<]", "<minimax:", "</minimax:", "<response>", "</response>"),
    ),
    "Seed": ("<seed:", "</seed:"),
    "Nemotron": (
        *("<SPECIAL_", "<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>", "<TOOLCALL>", "</TOOLCALL>"),
        *("<TOOL_RESPONSE>", "</TOOL_RESPONSE>", "<extra_id_"),
    ),
    "Qwen-Agent": ("✿",),
    "Kimi, thinking aloud": ("◁",),
    "Apriel": ("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]", "<thinking>", "</thinking>"),
    "EXAONE": ("[|", "|]"),
    "Cohere": ("<BOS_TOKEN>", "<EOS_TOKEN>", "<EOP_TOKEN>"),
    "InternLM, Baichuan, StarCoder": ("[UNUSED_TOKEN_", "<reserved_", "<fim_"),
}
_MARKER = re.compile("|".join(re.escape(each) for family in FAMILIES.values() for each in family))


def escape_markers(json_text: str) -> str:
    """Return equivalent JSON text in which no special token of a chat template is left."""
    return _MARKER.sub(_escaped, json_text)


def _escaped(marker: re.Match[str]) -> str:
    return f"\\u{ord(marker[0][0]):04x}{marker[0][1:]}"
