"""Text as it goes into a prompt: the control tokens of chat templates that it may hold are broken.

A model server reads `<|im_end|>` in a message as the end of the message, whoever wrote it: a document could speak as
the system. A space after the first character leaves the words readable and the token none (docs/adr/0012).
"""

import re

_CONTROL = re.compile(
    r"<(?="
    r"[|｜][^<>\n]{1,64}[|｜]>"  # ChatML, Llama 3, Phi, DeepSeek: <|im_end|>, <|eot_id|>, <｜User｜>
    r"|/?(?:s|bos|eos|pad|unk|mask|cls|sep)>"  # SentencePiece and BERT: </s>
    r"|/?(?:start|end)_of_[a-z_]{1,16}>"  # Gemma: <end_of_turn>
    r"|/?(?:tool_call|tool_response|tools|think|function|im_start|im_end)>"
    r"|/?(?:unused|extra_id_|reserved_)[a-z0-9_]{1,16}>"
    r"|</?SYS>>"  # Llama 2
    r")"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CLS|SEP|PAD|MASK|UNK)\])",
    re.IGNORECASE,
)
"""The first character of a token; what follows is only looked at, so that a token inside of another is found too."""


def inert(text: str) -> str:
    """The text with every control token broken by a space after its first character; any other text as it is.

    A function of the text alone, so that the copy in a prompt can be made again from the stored text and proven.
    """
    return _CONTROL.sub(r"\g<0> ", text)
