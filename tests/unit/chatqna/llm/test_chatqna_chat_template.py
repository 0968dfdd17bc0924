"""Published chat templates: found beside the tokenizer, rendered as servers do, and refused at start or in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard_chatqna.llm.chat_template import TemplateFileError, published_beside
from steelyard_contracts.errors import ErrorCode, SteelyardError

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
MESSAGES = [{"role": "system", "content": "a & <b>"}, {"role": "user", "content": "保守?"}]
CHATML_PROMPT = "<|im_start|>system\na & <b><|im_end|>\n<|im_start|>user\n保守?<|im_end|>\n<|im_start|>assistant\n"

ALTERNATING = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] %}"
    "{% set messages = messages[1:] %}{% endif %}"
    "{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate, not ' + message['content']) }}{% endif %}"
    "{{ '[INST] ' + message['content'] + ' [/INST]' if message['role'] == 'user' else message['content'] + eos_token }}"
    "{% endfor %}"
)


def beside(folder: Path, **files: Any) -> Any:
    for name, content in files.items():
        path = folder / {"config": "tokenizer_config.json", "template": "chat_template.jinja"}[name]
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return published_beside(folder / "tokenizer.json")


@pytest.mark.parametrize(
    "files",
    [
        {"config": {"chat_template": CHATML}},
        {"template": CHATML},
        {"template": CHATML, "config": {"chat_template": "{{ an_older_one }}"}},
        {"config": {"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": CHATML}]}},
    ],
)
def test_the_template_is_found_where_models_are_published_with_it(tmp_path: Path, files: Any) -> None:
    assert beside(tmp_path, **files)(MESSAGES) == CHATML_PROMPT


@pytest.mark.parametrize(
    "files", [{}, {"config": {}}, {"config": {"chat_template": None}}, {"config": {"chat_template": []}}]
)
def test_a_model_without_one_has_none(tmp_path: Path, files: Any) -> None:
    assert beside(tmp_path, **files) is None


def test_special_tokens_are_those_of_the_configuration(tmp_path: Path) -> None:
    config = {"chat_template": ALTERNATING, "bos_token": {"content": "<s>", "lstrip": False}, "eos_token": "</s>"}
    turns = [*MESSAGES, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    assert beside(tmp_path, config=config)(turns) == "<s>[INST] 保守? [/INST]b</s>[INST] c [/INST]"


def test_what_published_templates_call_is_there(tmp_path: Path) -> None:
    template = (
        "{% for message in messages %}\n    {%- if loop.index0 == 1 %}{% break %}{% endif %}\n"
        "{{ message | tojson }}{% endfor %}{{ strftime_now('%Y') | length }}{{ tools is none }}"
    )
    assert beside(tmp_path, template=template)(MESSAGES) == '{"role": "system", "content": "a & <b>"}4True'


def test_turns_that_the_template_refuses_are_the_callers_fault_and_are_not_quoted(tmp_path: Path) -> None:
    render = beside(tmp_path, config={"chat_template": ALTERNATING, "bos_token": "<s>"})
    with pytest.raises(SteelyardError, match="does not take these turns") as refused:
        render([*MESSAGES, {"role": "user", "content": "CANARY"}])
    assert refused.value.code == ErrorCode.INVALID_REQUEST
    assert "CANARY" not in refused.value.detail


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"config": "{"}, r"tokenizer_config\.json: it can not be read as JSON"),
        ({"config": "[]"}, r"tokenizer_config\.json: it is no JSON object"),
        ({"template": "{% for %}"}, r"chat_template\.jinja: its chat template can not be read"),
        (
            {"template": "{{ raise_exception('no system') }}"},
            r"chat_template\.jinja: its chat template takes no system",
        ),
        ({"template": "{{ messages.append(1) }}"}, r"chat_template\.jinja: its chat template takes no system"),
        ({"config": {"chat_template": "{{ ''.__class__.__mro__ }}"}}, r"tokenizer_config\.json: its chat template"),
    ],
)
def test_a_template_that_can_not_be_used_names_its_file(tmp_path: Path, files: Any, said: str) -> None:
    with pytest.raises(TemplateFileError, match=said):
        beside(tmp_path, **files)


def test_a_template_that_can_not_be_opened_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").mkdir()
    with pytest.raises(TemplateFileError, match=r"chat_template\.jinja: it can not be read \(IsADirectoryError\)"):
        published_beside(tmp_path / "tokenizer.json")
