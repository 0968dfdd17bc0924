"""The demo corpus itself: formats, languages, size, and the repetitions that selection is meant to drop."""

import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import combinations

from examples.build_corpus import CORPUS, EXAMPLES, SOURCES

REVISIONS = [CORPUS / f"service-bulletin-sb-031-rev-{revision}.md" for revision in "abc"]


def markdown_sections(text: str) -> dict[str, str]:
    """Map each heading to the text below it, up to the next heading of any level."""
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def test_all_five_formats_and_no_stray_file() -> None:
    formats = Counter(path.suffix for path in CORPUS.iterdir())
    assert formats == {".pdf": 1, ".docx": 3, ".html": 4, ".md": 7, ".txt": 2}


def test_some_file_names_are_not_ascii() -> None:
    names = [path.name for path in CORPUS.iterdir() if not path.name.isascii()]
    assert {"wartungsplan-prüfintervalle.md", "保守点検ハンドブック.md", "دليل-الصيانة.txt"} <= set(names)


def test_size_is_that_of_a_small_real_archive() -> None:
    texts = [path for path in CORPUS.iterdir() if path.suffix not in {".pdf", ".docx"}] + list(SOURCES.iterdir())
    words = sum(len(path.read_text(encoding="utf-8").split()) for path in texts)
    assert 12_000 <= words <= 20_000


def test_two_documents_have_sections_of_more_than_1500_words() -> None:
    handbook = markdown_sections((SOURCES / "ax-104-maintenance-handbook.pdf.md").read_text(encoding="utf-8"))
    station = markdown_sections((CORPUS / "ds-20-dosing-station-manual.md").read_text(encoding="utf-8"))
    assert len(handbook["6 Replacing the mechanical seal"].split()) > 1_500
    assert len(station["Commissioning"].split()) > 1_500


def test_bulletin_revisions_repeat_one_section_with_small_changes() -> None:
    sections = [markdown_sections(path.read_text(encoding="utf-8")) for path in REVISIONS]
    instructions = [section["Tightening the gland bolts"] for section in sections]
    for first, second in combinations(instructions, 2):
        assert SequenceMatcher(None, first, second, autojunk=False).ratio() > 0.85
    assert instructions[0] != instructions[1]


def test_two_sections_are_exact_duplicates() -> None:
    rev_b, rev_c = (markdown_sections(path.read_text(encoding="utf-8")) for path in REVISIONS[1:])
    for heading in ("Tightening the gland bolts", "Why the lubricant matters"):
        assert rev_b[heading] == rev_c[heading]


def test_only_the_newest_revision_calls_itself_valid() -> None:
    texts = [path.read_text(encoding="utf-8") for path in REVISIONS]
    assert ["**Superseded.**" in text for text in texts] == [True, True, False]
    assert ["**Valid.**" in text for text in texts] == [False, False, True]


def test_every_revision_names_the_same_torque() -> None:
    for path in REVISIONS:
        torques = set(re.findall(r"gland bolts of the AX-104-B to (\d+) Nm", path.read_text(encoding="utf-8")))
        assert torques == {"24"}, path.name


def test_readme_lists_every_document() -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(.+?)` \|", readme, flags=re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in CORPUS.iterdir())
