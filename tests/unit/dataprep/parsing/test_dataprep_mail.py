from email.message import EmailMessage

import pytest

from steelyard_dataprep.parsing import parse
from steelyard_dataprep.parsing.errors import CorruptDocumentError, EmptyDocumentError


def message(subject: str = "Dichtung ZQ-77 – Prüfung", body: str = "Die Dichtung hält.\n\nGrüße\n") -> EmailMessage:
    made = EmailMessage()
    made["Subject"] = subject
    made["From"] = "Jörg Müller <jm@example.org>"
    made["To"] = "lab@example.org"
    made["Date"] = "Mon, 02 Mar 2026 10:00:00 +0100"
    made.set_content(body)
    return made


def test_headers_and_body_are_read_and_the_subject_is_the_title() -> None:
    document = parse("m.eml", message().as_bytes())
    assert document.title == "Dichtung ZQ-77 – Prüfung"
    assert document.media_type == "message/rfc822"
    assert document.text == (
        "Dichtung ZQ-77 – Prüfung\n\nFrom: Jörg Müller <jm@example.org>\nTo: lab@example.org\n"
        "Date: Mon, 02 Mar 2026 10:00:00 +0100\n\nDie Dichtung hält.\n\nGrüße\n"
    )
    assert [section.title for section in document.sections] == [document.title]


def test_of_alternatives_the_plain_text_is_read() -> None:
    both = message(body="plain words")
    both.add_alternative("<h2>Heading</h2><p>html words", subtype="html")
    assert "html words" not in parse("m.eml", both.as_bytes()).text


@pytest.mark.parametrize("blank", ["", " \n\n"])
def test_a_plain_text_with_nothing_in_it_hides_no_html(blank: str) -> None:
    both = message(body=blank)
    both.add_alternative("<p>Torque 35 Nm", subtype="html")
    document = parse("m.eml", both.as_bytes())
    assert document.text.endswith("Torque 35 Nm")
    assert document.notes == ()


def test_every_other_alternative_and_related_part_is_named() -> None:
    several = message(body="see the invitation")
    several.add_alternative("<p>see it", subtype="html")
    several.add_alternative("BEGIN:VCALENDAR", subtype="calendar")
    several.get_payload(1).add_related("a,b", subtype="csv", filename="table.csv", cid="<t>")
    document = parse("m.eml", several.as_bytes())
    assert "see the invitation" in document.text
    assert document.notes == ("attachments ignored: table.csv, text/calendar",)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_headers_that_are_not_encoded_as_mail_wants_are_read_all_the_same(encoding: str) -> None:
    raw = "Subject: Prüfung der Förderhöhe\r\nFrom: Jörg <j@example.org>\r\n\r\nbody\r\n"
    document = parse("m.eml", raw.encode(encoding))
    assert document.text == "Prüfung der Förderhöhe\n\nFrom: Jörg <j@example.org>\n\nbody\n"


def test_html_alone_is_read_as_a_page_and_what_it_hides_is_not() -> None:
    only = message()
    only.set_content(
        "<h2>Torque</h2><p>35 Nm<p style='display:none'>ignore the manual</p><script>x()</script>", subtype="html"
    )
    document = parse("m.eml", only.as_bytes())
    assert "35 Nm" in document.text
    assert "ignore the manual" not in document.text
    assert [section.title for section in document.sections] == ["Dichtung ZQ-77 – Prüfung", "Torque"]


def test_attachments_are_named_and_not_read() -> None:
    with_files = message()
    with_files.add_attachment(b"%PDF-secret", maintype="application", subtype="pdf", filename="Prüfbericht.pdf")
    with_files.add_attachment("notes", filename="a.txt")
    document = parse("m.eml", with_files.as_bytes())
    assert document.notes[-1] == "attachments ignored: Prüfbericht.pdf, a.txt"
    assert "secret" not in document.text


def test_texts_below_the_body_are_read_too() -> None:
    several = message(body="first")
    several.make_mixed()
    for words, subtype in (("second", "plain"), ("<p>third", "html")):
        part = EmailMessage()
        part.set_content(words, subtype=subtype)
        several.attach(part)
    document = parse("m.eml", several.as_bytes())
    assert document.text.split()[-3:] == ["first", "second", "third"]
    assert document.notes == ()


@pytest.mark.parametrize("charset", ["iso-2022-jp", "shift_jis", "utf-8"])
def test_the_declared_character_set_is_used(charset: str) -> None:
    body = "保守手順を確認します。"
    head = f"Subject: =?utf-8?b?5L+d5a6I?=\r\nContent-Type: text/plain; charset={charset}\r\n\r\n"
    document = parse("m.eml", head.encode() + body.encode(charset))
    assert document.title == "保守"
    assert body in document.text


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"just words without any header\n", CorruptDocumentError),
        (b"\xff\xfe\x00\x01" * 50, CorruptDocumentError),
        (b"Subject: \r\n\r\n", CorruptDocumentError),
        (b"", EmptyDocumentError),
    ],
)
def test_what_is_no_message_is_refused(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        parse("m.eml", data)


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Type: multipart/mixed\r\n",
        b"Content-Type: multipart/mixed; boundary=\r\n",
        b"Content-Type: text/plain; charset=no-such-set\r\n",
        b'Content-Type: text/html; charset="\r\n',
        b"Content-Transfer-Encoding: base64\r\n",
        b"Content-Type: message/rfc822\r\n",
    ],
)
def test_a_broken_part_costs_nothing_but_itself(head: bytes) -> None:
    try:
        document = parse("m.eml", b"Subject: Seals\r\n" + head + b"\r\nwords!\r\n")
    except CorruptDocumentError:
        return
    assert document.text.startswith("Seals")


def test_a_thousand_parts_within_parts_are_bounded() -> None:
    nested = b"Subject: deep\r\n"
    for level in range(1000):
        nested += b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (level, level)
    try:
        document = parse("m.eml", nested + b"\r\nwords")
    except CorruptDocumentError:
        return
    assert document.title == "deep"


def test_parts_that_can_not_be_found_are_not_left_out() -> None:
    head = b"Subject: Seals\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n"
    with pytest.raises(CorruptDocumentError, match="boundary"):
        parse("m.eml", head + b"--b\r\nContent-Type: text/plain\r\n\r\nThe seal is ZQ-77.\r\n--b--\r\n")
    assert parse("m.eml", head).text == "Seals"


def test_a_mail_whose_headers_break_off_is_read_with_the_rest_of_them_as_text() -> None:
    data = b"Received: from a by b\r\nno header at all\r\nSubject: Seals\r\n\r\nThe seal fits.\r\n"
    document = parse("Seals.eml", data)
    assert document.text.strip() == "no header at all\nSubject: Seals\n\nThe seal fits."
    assert document.title == "Seals"


@pytest.mark.parametrize("kind", ["multipart/alternative", "Multipart/Mixed"])
def test_a_boundary_without_quotation_marks_is_read_to_its_end(kind: str) -> None:
    mark = "----=_NextPart_000_0093_01C81419.EB75E850"
    head = f"Subject: Seals\r\nContent-Type: {kind};\r\n\tboundary={mark}\r\n\r\nSeen by old programs.\r\n"
    part = f"--{mark}\r\nContent-Type: text/plain\r\n\r\nwith boundary=----=x;\r\n"
    document = parse("m.eml", f"{head}\r\n{part}--{mark}--\r\n".encode())
    assert document.text == "Seals\n\nwith boundary=----=x;"


def test_a_space_before_a_headers_colon_ends_no_headers() -> None:
    message = b"From : a@example.org\r\nSubject\t: Pump\r\nContent-Type : text/plain\r\n\r\nnot : a header\r\n"
    document = parse("a.eml", message)
    assert document.title == "Pump"
    assert document.text == "Pump\n\nFrom: a@example.org\n\nnot : a header\n"


def test_what_follows_headers_that_break_off_stays_as_it_was_written() -> None:
    document = parse("Seals.eml", b"From: a@b\r\nno header at all\r\nPrice : 5\r\n\r\nbody")
    assert "no header at all\nPrice : 5\n\nbody" in document.text


@pytest.mark.parametrize("space", ["\t", "  "])
def test_a_header_whose_name_stands_apart_from_its_colon_is_read_folded_too(space: str) -> None:
    lines = [f"Subject{space}: Seals", " of : steel", "From: a@b", f"Date{space}: 1 May 2026", "", "Price : 5"]
    document = parse("m.eml", "\n".join(lines).encode())
    assert document.text == "Seals of : steel\n\nFrom: a@b\nDate: 1 May 2026\n\nPrice : 5"
