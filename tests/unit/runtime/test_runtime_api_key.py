"""The key for a server that is not ours: from its file alone, and in no message."""

from pathlib import Path

import pytest

from steelyard_runtime.api_key import api_key


def test_the_key_is_the_file_without_its_last_newline(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("abc-123\n")
    assert api_key("SOME_KEY_FILE", str(tmp_path / "key")) == "abc-123"
    assert api_key("SOME_KEY_FILE", None) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no key"),
        ("\n", "holds no key"),
        ("two words", "holds no key"),
        ("schlüssel", "holds no key"),
        ("a\nb", "holds no key"),
        ("aB3dEf7h" * 10_000, "holds more than 65536 bytes"),
        ("changeme-now", "holds a placeholder"),
        ("CHANGE_ME", "holds a placeholder"),
        ("your-api-key-here", "holds a placeholder"),
        ("<your-key>", "holds a placeholder"),
        ("xxxxxxxx", "holds a placeholder"),
    ],
)
def test_a_file_without_a_key_is_named_and_its_text_is_not_shown(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(ValueError, match=rf"SOME_KEY_FILE=.*file' {said}") as error:
        api_key("SOME_KEY_FILE", str(tmp_path / "file"))
    assert not text.strip() or text.strip() not in str(error.value)


def test_a_key_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"SOME_KEY_FILE=.* can not be read \(FileNotFoundError\)"):
        api_key("SOME_KEY_FILE", str(tmp_path / "none"))
