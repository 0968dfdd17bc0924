"""Names of uploads: labels that keep folders and never point anywhere."""

import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_dataprep.names import source_name


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("README.md", "README.md"),
        ("a/README.md", "a/README.md"),
        ("b\\README.md", "b/README.md"),
        ("./a//b/./c.txt", "a/b/c.txt"),
        ("/home/me/notes.txt", "notes.txt"),
        ("C:\\Users\\me\\notes.txt", "notes.txt"),
        ("よくある質問.html", "よくある質問.html"),
        ("gewährleistung und mehr.docx", "gewährleistung und mehr.docx"),
        ("a..b.txt", "a..b.txt"),
        ("a %22quoted%22 name.txt", 'a "quoted" name.txt'),
        ("100%25 of %20 and %.txt", "100%25 of %20 and %.txt"),
        (" notes.txt", " notes.txt"),
        ("a /notes.txt ", "a /notes.txt "),
    ],
)
def test_a_name_keeps_what_tells_documents_apart(filename: str, name: str) -> None:
    assert source_name(filename) == name


@pytest.mark.parametrize(
    "filename",
    ["", " ", "/", "..", "../secret.txt", "a/../../b", "a\x00b", "a\nb", "a%0Ab", "a%0d%0ab", " .. /b", "x" * 1025],
)
def test_a_name_that_says_nothing_or_points_out_is_refused(filename: str) -> None:
    with pytest.raises(SteelyardError) as caught:
        source_name(filename)
    assert caught.value.code is ErrorCode.INVALID_REQUEST
