"""`ask` and `inspect` against a gateway's double."""

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from steelyard_cli.commands import ask as command
from steelyard_cli.main import app
from steelyard_cli.terminal import Terminal
from tests.unit.cli import samples
from tests.unit.cli.doubles import problem

_EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}
_CHAT = "POST /v1/chat/completions"
_LEDGER = f"GET /v1/ledgers/{samples.LEDGER_ID}"

pytestmark = pytest.mark.usefixtures("clean_environ")


@pytest.fixture
def gateway(double):
    stream = samples.answer_stream("The approved seal", " is ZQ-77.")
    double.routes[_CHAT] = (200, _EVENTS, [stream[:40], stream[40:41], stream[41:]])
    double.routes[_LEDGER] = (200, {}, json.dumps(samples.ledger()).encode())
    return double


def ask(gateway, *arguments):
    return CliRunner().invoke(app, ["ask", "Which seal fits AX-104-B?", "--url", gateway.url, *arguments])


def test_the_answer_its_citations_and_its_ledger_are_shown(gateway):
    result = ask(gateway)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "The approved seal is ZQ-77."
    assert "[1] handbook.pdf · 4.2 Seals · pages 12-13 · characters 31-71 · support 0.93" in lines
    assert f"    “{samples.QUOTE}”" in [line.rstrip() for line in lines]
    assert "4 retrieved -> 1 sent, 3 dropped (2 value_below_threshold, 1 duplicate)" in lines
    assert any("kept when value > -1" in line for line in lines)
    rows = [
        line.split() for line in lines if line.rstrip().endswith(("selected", "duplicate", "value_below_threshold"))
    ]
    assert rows == [
        ["2", "handbook.pdf", "/", "4.2", "Seals", "0.710", "0.950", "130", "120", "1.250", "0.875", "0.300", "0.050",
         "0.700", "1", "selected"],
        ["1", "c3", "0.710", "0.950", "128/130", "120", "1.250", "0.875", "0.300", "0.050", "-1.400",
         "value_below_threshold"],
        ["3", "handbook.pdf", "0.710", "0.950", "130", "duplicate"],
        ["4", "c4", "0.710", "0.950", "130", "120", "1.250", "0.875", "0.300", "0.050", "-2.000",
         "value_below_threshold"],
    ]  # fmt: skip
    assert lines[-1].startswith("budget: window 4096 = system 60 + history 0 + question 12 + evidence 120")
    assert "\x1b" not in result.stdout


def test_what_is_asked(gateway):
    assert ask(gateway, "--strategy", "slice", "--top-n", "2", "--k", "9", "--threshold", "0").exit_code == 0
    assert gateway.calls[0].json() == {
        "messages": [{"role": "user", "content": "Which seal fits AX-104-B?"}],
        "stream": True, "reranking_strategy": "slice", "top_n": 2, "k": 9, "reranking_threshold": 0.0,
    }  # fmt: skip


def test_json_is_one_document_and_standard_error_is_silent(gateway):
    result = ask(gateway, "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert json.loads(result.stdout) == {
        "question": "Which seal fits AX-104-B?",
        "answer": "The approved seal is ZQ-77.",
        "finish_reason": "stop",
        "steelyard": samples.answered(),
        "ledger": samples.ledger(),
    }


def test_without_the_ledger_only_the_funnel_is_shown(gateway):
    result = ask(gateway, "--no-ledger")
    assert result.exit_code == 0
    assert "4 retrieved -> 1 sent" in result.stdout
    assert "evidence ledger" not in result.stdout
    assert [call.path for call in gateway.calls] == ["/v1/chat/completions"]


def test_a_gateway_that_keeps_no_ledgers_is_no_failure(gateway):
    gateway.routes[_LEDGER] = (404, {}, problem("not_found", "there is no ledger of that id (any more)"))
    result = ask(gateway)
    assert result.exit_code == 0
    assert "keeps no ledgers" in result.stderr
    assert "4 retrieved -> 1 sent" in result.stdout


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outcome": "empty", "abstained": "nothing was selected"}, "no answer from the model: nothing was selected"),
        ({"abstained": "the best score 0.1 is below 0.3"}, "no answer from the model: the best score"),
    ],
)
def test_no_evidence_is_exit_1(gateway, changes, said):
    gateway.routes[_CHAT] = (200, _EVENTS, samples.answer_stream("None.", extension=samples.answered(**changes)))
    result = ask(gateway)
    assert result.exit_code == 1
    assert said in result.stdout


def test_a_replaced_answer_is_in_the_ledgers_header(gateway):
    extension = samples.answered(abstained="unsupported_answer")
    gateway.routes[_CHAT] = (200, _EVENTS, samples.answer_stream("Not in the documents.", extension=extension))
    result = ask(gateway)
    (header,) = [line for line in result.stdout.splitlines() if line.startswith("evidence ledger")]
    assert "abstained: unsupported_answer" in header
    assert "outcome" not in header


def test_what_a_reader_must_know_is_said(gateway):
    extension = samples.answered(
        outcome="degraded",
        degraded=[{"stage": "reranker", "reason": "timeout", "detail": "no answer within 2 s"}],
        unsupported=[{"answer_start": 0, "answer_end": 5, "text": "It is black.", "missing": ["black"]}],
        extractive=True,
        invented_markers=2,
        removed_links=1,
    )
    gateway.routes[_CHAT] = (200, _EVENTS, samples.answer_stream("It is black.", extension=extension))
    result = ask(gateway)
    assert result.exit_code == 0
    assert "degraded: reranker: no answer within 2 s" in result.stdout
    assert "unsupported by the evidence: It is black. (not found: black)" in result.stdout
    assert "extractive" in result.stdout
    assert "2 citations of chunks that were not sent were removed" in result.stdout
    assert "1 links that no evidence has were removed" in result.stdout


def test_a_stream_that_ends_without_done_is_an_error(gateway):
    whole = samples.answer_stream("The approved seal")
    gateway.routes[_CHAT] = (200, _EVENTS, whole.removesuffix(b"data: [DONE]\n\n"))
    result = ask(gateway)
    assert result.exit_code == 1
    assert result.stdout == "The approved seal\n"
    assert "ended without [DONE]" in result.stderr


def test_a_connection_that_breaks_is_an_error(gateway):
    gateway.routes[_CHAT] = (200, {**_EVENTS, "X-Break": "1"}, [samples.chunk("The approved")])
    result = ask(gateway, "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert json.loads(result.stderr)["error"]["code"] == "broken_reply"


def test_an_error_in_the_stream_is_shown_with_its_code(gateway):
    error = {"error": {"message": "the model is gone", "type": "server_error", "param": None,
                       "code": "upstream_bad_reply", "stage": "llm", "request_id": "r-9"}}  # fmt: skip
    gateway.routes[_CHAT] = (200, _EVENTS, samples.chunk("The") + b"data: " + json.dumps(error).encode() + b"\n\n")
    result = ask(gateway)
    assert result.exit_code == 1
    assert "error: upstream_bad_reply: the model is gone (llm, request r-9)" in result.stderr


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"event: error\ndata: {}\n\n", "not documented"),
        (b"data: nonsense\n\n", "not JSON"),
        (b"data: 3\n\n", "not a JSON object"),
        (b"data: [DONE]\n\n", "without its evidence"),
        (samples.chunk("x", steelyard={"outcome": "ok"}), "`steelyard` field is malformed"),
    ],
)
def test_a_stream_that_is_not_what_it_should_be_is_an_error(gateway, body, said):
    gateway.routes[_CHAT] = (200, _EVENTS, body)
    result = ask(gateway)
    assert result.exit_code == 1
    assert said in result.stderr


def test_a_reply_that_is_no_stream_is_an_error(gateway):
    gateway.routes[_CHAT] = (200, {"Content-Type": "text/html"}, b"<html>")
    result = ask(gateway)
    assert result.exit_code == 1
    assert "answered text/html, not an event stream" in result.stderr


@pytest.mark.parametrize(
    ("status", "body", "exit_code", "said"),
    [
        (422, problem("query_too_long", "600 tokens"), 1, "query_too_long: 600 tokens (gateway, request r-1)"),
        (500, problem("embedding_misaligned", "c7", "reranker"), 1, "embedding_misaligned: c7 (reranker, request r-1)"),
        (503, problem("not_ready", "starting"), 3, "not_ready: starting"),
        (502, problem("upstream_unreachable", "no", "retriever"), 3, "upstream_unreachable: no (retriever"),
        (400, b'{"error": {"message": "too long", "code": "context_length_exceeded", "stage": "gateway", '
              b'"request_id": "r-2"}}', 1, "context_length_exceeded: too long (gateway, request r-2)"),
        (502, b"<html>bad gateway</html>", 1, "answered 502 without a problem document"),
        (302, b"", 1, "answered 302 without a problem document"),
        (500, b"[1]", 1, "answered 500 without a problem document"),
    ],
)  # fmt: skip
def test_a_refusal_is_shown_as_code_detail_stage_and_request(gateway, status, body, exit_code, said):
    gateway.routes[_CHAT] = (status, {"Location": "http://127.0.0.1:1/"}, body)
    result = ask(gateway)
    assert result.exit_code == exit_code
    assert said in result.stderr
    assert result.stdout == ""


def test_a_gateway_that_is_not_there_is_named_with_what_to_do(double):
    double.stop()
    result = ask(double)
    assert result.exit_code == 3
    assert f"chatqna is unreachable at {double.url}: Connection refused" in result.stderr
    assert "steelyard up" in result.stderr
    double.stop = lambda: None


def test_a_key_is_shown_to_the_gateway(gateway, tmp_path, monkeypatch):
    (tmp_path / "key").write_text("sk-1234567890abcdef\n")
    monkeypatch.setenv("STEELYARD_API_KEY_FILE", str(tmp_path / "key"))
    assert ask(gateway).exit_code == 0
    assert {call.headers["authorization"] for call in gateway.calls} == {"Bearer sk-1234567890abcdef"}
    (tmp_path / "key").write_text("\n")
    empty = ask(gateway)
    assert empty.exit_code == 2
    assert "is empty" in empty.stderr


def test_a_proxy_of_the_environment_is_not_asked_about_this_host(gateway, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert ask(gateway).exit_code == 0


@pytest.mark.parametrize("question", ["", "  \n"])
def test_a_blank_question_is_refused_before_it_is_sent(gateway, question):
    result = CliRunner().invoke(app, ["ask", question, "--url", gateway.url])
    assert result.exit_code == 2
    assert "QUESTION is blank" in result.stderr
    assert gateway.calls == []


def test_an_address_that_is_none_is_refused():
    result = CliRunner().invoke(app, ["ask", "x", "--url", "localhost:8888"])
    assert result.exit_code == 2
    assert "should be an address like" in result.stderr


def test_escape_sequences_of_documents_and_models_do_not_reach_the_terminal(gateway):
    evil = "\x1b]0;owned\x07\x1b[2J\u202eevil"
    citations = [samples.citation(source=f"a{evil}.pdf", section=evil, quote=evil)]
    gateway.routes[_CHAT] = (200, _EVENTS, samples.answer_stream(evil, extension=samples.answered(citations=citations)))
    result = ask(gateway)
    assert result.exit_code == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(result.stdout)
    assert "evil" in result.stdout


def test_markup_in_documents_is_text(gateway):
    citations = [samples.citation(source="[bold]x[/bold].md", quote="[link=http://x]here[/link] :smile:")]
    gateway.routes[_CHAT] = (200, _EVENTS, samples.answer_stream("x", extension=samples.answered(citations=citations)))
    result = ask(gateway)
    assert "[bold]x[/bold].md" in result.stdout
    assert "[link=http://x]here[/link] :smile:" in result.stdout


def test_the_picture_shows_the_same_and_needs_nothing_from_elsewhere(gateway, tmp_path):
    picture = tmp_path / "answer.svg"
    assert ask(gateway, "--save-svg", str(picture)).exit_code == 0
    text = picture.read_text()
    for shown in ("ZQ-77.", "value_below_threshold", "confusion", "█"):
        assert shown in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "@font-face" not in text
    assert "<script" not in text


def test_a_picture_that_can_not_be_written_is_said(gateway, tmp_path):
    result = ask(gateway, "--save-svg", str(tmp_path / "absent" / "answer.svg"))
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr
    assert gateway.calls == [], "nothing was asked for a picture that can not be kept"
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "answer.svg").symlink_to(tmp_path / "absent" / "answer.svg")
    result = ask(gateway, "--save-svg", str(tmp_path / "shut" / "answer.svg"))
    assert result.exit_code == 2
    assert "No such file or directory" in result.stderr


def test_inspect_shows_the_ledger_without_an_answer(double):
    double.routes["POST /v1/inspect"] = (200, {}, json.dumps(samples.ledger(answer=None, budget=None)).encode())
    result = CliRunner().invoke(app, ["inspect", "Which seal?", "--url", double.url, "--k", "3"])
    assert result.exit_code == 0
    assert "evidence ledger 5f0c7bd1" in result.stdout
    assert "budget" not in result.stdout
    assert "4 retrieved -> 1 kept, 3 dropped" in result.stdout
    assert "sent" not in result.stdout
    assert double.calls[0].json() == {"messages": "Which seal?", "k": 3}


def test_inspect_that_selects_nothing_is_exit_1_and_json_is_the_ledger(double):
    nothing = samples.ledger(
        outcome="empty", entries=[], evidence=[], totals={"retrieved": 0, "sent": 0, "dropped": {}}
    )
    double.routes["POST /v1/inspect"] = (200, {}, json.dumps(nothing).encode())
    result = CliRunner().invoke(app, ["inspect", "Which seal?", "--url", double.url, "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {name: value for name, value in nothing.items() if value is not None}


def test_a_ledger_that_breaks_its_contract_is_an_error(double):
    double.routes["POST /v1/inspect"] = (200, {}, b'{"ledger_id": 7}')
    result = CliRunner().invoke(app, ["inspect", "Which seal?", "--url", double.url])
    assert result.exit_code == 1
    assert "something that is no Ledger: ledger_id:" in result.stderr


def on_a_terminal(monkeypatch):
    """Make the command's standard error a terminal; returns what it was sent."""
    screen = io.StringIO()
    err = Console(file=screen, force_terminal=True, width=80, highlight=False)

    def opened(_, *, as_json):
        return Terminal(as_json, Console(file=io.StringIO(), width=80), err)

    monkeypatch.setattr(Terminal, "open", classmethod(opened))
    return screen


@pytest.mark.parametrize(("flags", "is_said"), [([], True), (["--json"], False)])
def test_a_terminal_is_told_that_the_answer_is_awaited_until_it_comes(gateway, monkeypatch, flags, is_said):
    screen = on_a_terminal(monkeypatch)
    assert ask(gateway, *flags).exit_code == 0
    shown = screen.getvalue()
    assert ("finding evidence, then the model reads it…" in shown) == is_said
    assert ("0 s" in shown) == is_said
    # The line is erased, and the cursor that it hid is back.
    assert shown.endswith("\x1b[2K") == is_said
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == is_said


def test_the_line_is_gone_before_the_first_text(gateway, monkeypatch, tmp_path):
    screen = on_a_terminal(monkeypatch)
    seen = []

    class Watching(io.StringIO):
        def write(self, text):
            seen.append(screen.getvalue())
            return super().write(text)

    monkeypatch.setattr("steelyard_cli.commands.ask.sys.stdout", Watching())
    with command.connection.gateway(gateway.url, 10, tmp_path) as service:
        command._stream(service, command.evidence.chat_request("x", {}), Terminal.open(as_json=False))
    assert seen[0].endswith("\x1b[2K")
    assert screen.getvalue() == seen[0]
