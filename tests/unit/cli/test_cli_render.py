"""What people see on a terminal, and the parts of it."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from steelyard_cli.ingest.ingestion import Fault, FileReport
from steelyard_cli.render.bars import bar
from steelyard_cli.render.documents import documents_table
from steelyard_cli.render.ingestion import IngestView, ingest_table
from steelyard_cli.render.ledger import ledger_view
from steelyard_cli.render.live import StackView
from steelyard_cli.render.text import one_line, printable, without_middle
from steelyard_cli.stack.report import ServiceReport, StackReport
from steelyard_cli.terminal import console
from steelyard_contracts.answers import Ledger
from steelyard_contracts.dataprep import DocumentInfo
from tests.unit.cli import samples


def terminal(width):
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None, highlight=False)


@pytest.mark.parametrize(
    ("width", "shown", "hidden"),
    [
        (170, {"cosine", "rerank", "read", "relevance", "confusion", "█"}, set()),
        (146, {"rerank", "relevance", "confusion", "█", "read"}, {"cosine"}),
        (100, {"rerank", "value"}, {"cosine", "relevance", "█"}),
        (80, {"rerank", "value"}, {"cosine", "relevance", "█"}),
    ],
)
def test_a_ledger_shows_what_the_terminal_is_wide_enough_for(width, shown, hidden):
    one = terminal(width)
    one.print(ledger_view(Ledger.model_validate(samples.ledger()), one))
    text = one.file.getvalue()
    assert {word for word in shown | hidden if word in text} == shown
    # Whole, however narrow: the value, every fate, and that a pair was cut.
    for whole in ("0.700", "-1.400", "128/130", "value_below_threshold", "duplicate"):
        assert whole in text
    assert all(len(line) <= width for line in text.splitlines())


def test_what_evidence_was_sought_for_is_told_when_it_was_not_the_question():
    one = terminal(80)
    one.print(ledger_view(Ledger.model_validate(samples.ledger()), one))
    assert "sought" not in one.file.getvalue()
    rewritten = samples.ledger(retrieval_query="What do the\nbolts need?")
    one.print(ledger_view(Ledger.model_validate(rewritten), one))
    assert "evidence was sought for: What do the bolts need?" in one.file.getvalue()


def one_entry(**changes):
    entry = {**samples.entry("c1", 3, "not_scored", None, None), **changes}
    ledger = samples.ledger(
        entries=[entry], totals={"retrieved": 1, "sent": 0, "dropped": {entry["reason"]: 1}}, strategy="slice"
    )
    one = terminal(80)
    one.print(ledger_view(Ledger.model_validate(ledger), one))
    return one.file.getvalue()


def test_a_candidate_that_was_not_scored_says_why():
    shown = one_entry(pair=None, fault={"reason": "text_too_long", "detail": "the text has 600 tokens"})
    assert "found 3 not scored: text_too_long: the text has 600 tokens" in shown


@pytest.mark.parametrize(("truncated", "said"), [(None, " ? "), (True, " cut ")])
def test_a_pair_that_nobody_measured_is_no_whole_one(truncated, said):
    pair = {"status": "unavailable", "policy": "truncate", "truncated": truncated}
    shown = one_entry(pair=pair, reason="duplicate")
    assert said in shown
    assert "None" not in shown


def test_the_best_window_is_named():
    windows = [{"chunk_id": "c1", "span": [0, 9], "tokens": 9, "score": score} for score in (0.1, 0.9)]
    pair = samples.entry("c1", 1, "selected", 1, None)["pair"]
    pair["windows"] = {"aggregation": "max", "max_score": 0.9, "capped_score": 0.9, "winner": 1, "windows": windows}
    shown = one_entry(pair={**pair, "truncated": True}, reason="duplicate")
    assert "130/130 w2/2" in shown


@pytest.mark.parametrize("kinds", [{}, {"cosine": 0.5}, {"bm25": 7.25, "rrf": 0.01}])
def test_only_kinds_that_occur_have_a_column(kinds):
    entries = [{**samples.entry("c1", 1, "selected", 1, None), "scores": kinds, "pair": None}]
    ledger = Ledger.model_validate(
        samples.ledger(entries=entries, totals={"retrieved": 1, "sent": 1, "dropped": {}}, strategy="slice")
    )
    one = terminal(150)
    one.print(ledger_view(ledger, one))
    shown = one.file.getvalue()
    for kind in ("cosine", "bm25", "rrf", "rerank"):
        assert (f" {kind} " in shown) == (kind in kinds)
    assert "value" not in shown
    assert "read" not in shown


@pytest.mark.parametrize(
    ("value", "drawn"),
    [(0.0, "▏   "), (1.0, "████"), (0.5, "██  "), (0.25 + 1 / 32, "█▏  "), (9.0, "████"), (-9.0, "▏   ")],
)
def test_a_bar_has_eighths(value, drawn):
    assert bar(value, 0.0, 1.0, 4) == drawn


def test_a_bar_on_a_scale_without_length_is_full():
    assert bar(0.3, 0.3, 0.3, 4) == "████"


@pytest.mark.parametrize("unsafe", ["\x1b[31m", "\x07", "\x9b", "\r", "\x00", "\u202e", "\u2066", "\ud800"])
def test_what_could_act_on_a_terminal_is_replaced(unsafe):
    assert printable(f"a{unsafe[0]}b") == "a\ufffdb"


def test_ordinary_text_is_kept_in_every_script():
    text = "Größe\tمضخة 保守点検 👩‍🔧\nzweite Zeile"
    assert printable(text) == text


def test_one_line_folds_and_cuts():
    assert one_line(" a\n\n b\tc ") == "a b c"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


def test_a_name_is_cut_in_its_middle():
    assert without_middle("service-bulletin-rev-b.md", 11) == "servi…-b.md"
    assert without_middle("short.md", 8) == "short.md"
    assert [len(without_middle("x" * 99, limit)) for limit in (3, 4, 5, 50)] == [3, 4, 5, 50]


def test_wide_characters_are_cut_by_the_cells_that_they_take():
    assert one_line("保守点検手順書", 14) == "保守点検手順書"
    assert one_line("保守点検手順書", 8) == "保守点…"
    assert one_line("保守点検手順書", 7) == "保守点…"
    assert without_middle("保守点検手順書.pdf", 12) == "保守点….pdf"
    for limit in range(3, 40):
        assert cell_len(without_middle("保守a点検b手順書-" * 3, limit)) <= limit
        assert cell_len(one_line("保守a点検b手順書-" * 3, limit)) <= limit


def test_a_ledger_of_wide_names_fits_its_terminal():
    evidence = [
        {
            "chunk_id": "c1",
            "text": "x",
            "metadata": {**samples.metadata("c1", "第四章 " * 9), "source": "保守手順書" * 9},
        }
    ]
    one = terminal(80)
    one.print(ledger_view(Ledger.model_validate(samples.ledger(evidence=evidence)), one))
    table = [line for line in one.file.getvalue().splitlines() if "保守" in line]
    assert len(table) == 1
    assert cell_len(table[0]) <= 80
    assert table[0].rstrip().endswith("selected")


def test_a_pipe_gets_plain_text():
    stream = io.StringIO()
    one = console(stream)
    one.print("[bold]x[/bold] :smile: " + "y" * 300, style="red")
    assert stream.getvalue() == "[bold]x[/bold] :smile: " + "y" * 300 + "\n"


def stack_report(*, ready):
    causes = [] if ready else ["store: the file is locked"]
    service = ServiceReport(name="retriever", url="http://127.0.0.1:1", ready=ready, process="running", causes=causes)
    return StackReport(ready=ready, supervisor=1, services=[service])


def test_a_starting_stack_is_a_table_on_a_terminal_and_lines_of_change_elsewhere():
    wide = terminal(150)
    with StackView(wide) as view:
        view.update(stack_report(ready=False))
        before = wide.file.getvalue()
        view.update(stack_report(ready=True))
        assert wide.file.getvalue() == before
    assert "the file is locked" in wide.file.getvalue()
    assert "address" in wide.file.getvalue()
    stream = io.StringIO()
    with StackView(console(stream)) as view:
        for ready in (False, False, True):
            view.update(stack_report(ready=ready))
    assert stream.getvalue() == "retriever: store: the file is locked\nretriever: ready\n"


def test_ingestion_shows_files_chunks_and_rate_on_a_terminal():
    wide = terminal(150)
    report = FileReport(path="docs/a.md", name="a.md", size=10, status="published", chunks=3, tokens=400)
    with IngestView(wide, 2, 20) as view:
        view.add(report)
        view.add(report)
    shown = wide.file.getvalue()
    assert "2/2 files" in shown
    assert "6 chunks" in shown
    assert "chunks/s" in shown


DOCUMENT_ID = "4f9a" * 10


def document(name, **changes):
    return DocumentInfo(
        **{
            "document_id": DOCUMENT_ID, "revision": "r", "name": name, "title": "Maintenance of the pumps, volume two",
            "scope": "public", "media_type": "application/pdf", "size_bytes": 1234, "chunks": 2,
            "created_at": "2026-01-02T03:04:05+00:00", **changes,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("width", "shown", "hidden"),
    [
        (170, {"title", "scope", "size", "chunks", "taken in", "2026-01-02 ", "type", "pdf "}, set()),
        (120, {"scope", "chunks", "taken in", "type"}, {"title"}),
        (80, {"type"}, {"title", "size", "taken in"}),
        (50, set(), {"title", "size", "taken in", "type"}),
    ],
)
def test_a_list_of_documents_keeps_name_and_id_however_narrow(width, shown, hidden):
    one = terminal(width)
    one.print(documents_table([document("pump-maintenance-manual.pdf"), document("b.md")], one))
    text = one.file.getvalue()
    assert {word for word in shown | hidden if word in text} == shown
    lines = text.splitlines()
    assert text.count(DOCUMENT_ID) == 2
    assert "pump-maintenance-manual.pdf" in "".join(line.split("  ")[0].rstrip() for line in lines)
    assert all(len(line) <= width for line in lines)


def test_a_type_that_has_no_short_name_is_shown_as_it_is():
    one = terminal(170)
    one.print(documents_table([document("a", media_type="application/x-new")], one))
    assert "application/x-new" in one.file.getvalue()


def test_an_ingestion_fits_a_narrow_terminal_and_tells_each_rejection_once():
    narrow = terminal(80)
    reports = [
        FileReport(path="/a/long/way/" * 5 + "a.md", name="a.md", size=1, status="published", document_id=DOCUMENT_ID),
        FileReport(path="/x/b.pdf", name="b.pdf", size=1, status="rejected", notes=["read as text"],
                   error=Fault(code="corrupt_document", detail="no trailer")),
    ]  # fmt: skip
    with IngestView(narrow, 2, 2, table_follows=True) as view:
        for report in reports:
            view.add(report)
    assert "2/2 files (1 rejected)" in narrow.file.getvalue()
    narrow.print(ingest_table(reports, narrow))
    shown = narrow.file.getvalue()
    assert shown.count("corrupt_document: no trailer; read as text") == 1
    assert "/a/long" not in shown
    assert DOCUMENT_ID not in shown
    assert all(len(line) <= 80 for line in shown[shown.index("file ") :].splitlines())


def test_an_ingestion_without_notes_has_no_column_for_them():
    one = terminal(80)
    one.print(ingest_table([FileReport(path="a.md", name="a.md", size=1, status="published")], one))
    assert "notes" not in one.file.getvalue()
