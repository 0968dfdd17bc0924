"""Documents, a tokenizer and jobs, built here so that no test needs files or a network."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import docx
import pytest
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from steelyard_dataprep.jobs.jobs import Jobs
from steelyard_dataprep.jobs.store import JobStore
from steelyard_models.tokenizer import TextTokenizer
from steelyard_runtime import context
from steelyard_runtime.blocking import Workers

from .ingestion_bench import Bench
from .jobs.job_doubles import FakeFetcher, FakeIngestion

LANGUAGES = {
    "en": "The balance weighs a load against a counterweight. Every candidate is accounted for.",
    "de": "Die Waage wägt eine Last gegen ein Gegengewicht. Über jeden Kandidaten wird Buch geführt.",
    "ja": "天秤は荷物を錘と釣り合わせて量ります。すべての候補が記録されます。",
    "zh": "天平用砝码称量货物。每个候选项都有记录。",
    "th": "ตาชั่งชั่งน้ำหนักสิ่งของกับตุ้มน้ำหนัก ผู้สมัครทุกคนมีการบันทึก",
    "ar": "الميزان يزن الحمل مقابل ثقل موازن. كل مرشح له سجل.",
}


@pytest.fixture(scope="session", params=sorted(LANGUAGES))
def sample(request: pytest.FixtureRequest) -> str:
    """Two sentences, in each language in turn."""
    return LANGUAGES[request.param]


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """A WordPiece tokenizer trained on the samples, with truncation and padding baked in as published ones have."""
    wordpiece = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    wordpiece.normalizer = normalizers.BertNormalizer(lowercase=True)
    wordpiece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    wordpiece.train_from_iterator(LANGUAGES.values(), trainer)
    wordpiece.enable_truncation(128)
    wordpiece.enable_padding(length=128)
    return wordpiece


@pytest.fixture(scope="session")
def count_tokens(tokenizer_file: Path) -> Callable[[str], int]:
    """The counter for that tokenizer, as the parser processes make it."""
    return TextTokenizer(tokenizer_file).count


@pytest.fixture(scope="session")
def tokenizer_file(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That tokenizer as a file, for a process to load."""
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


@pytest.fixture
def make_pdf() -> Callable[..., bytes]:
    """Return a function that makes a PDF of pages, each a list of lines."""

    def make(*pages: list[str], title: str | None = None, outline: dict[str, int] | None = None) -> bytes:
        pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
        buffer = io.BytesIO()
        canvas = Canvas(buffer, pagesize=A4)
        canvas.setTitle(title or "")
        for number, lines in enumerate(pages):
            for entry, page in (outline or {}).items():
                if page == number:
                    canvas.bookmarkPage(entry)
                    canvas.addOutlineEntry(entry, entry, 0)
            for row, line in enumerate(lines):
                canvas.setFont("Helvetica" if line.isascii() else "HeiseiMin-W3", 12)
                canvas.drawString(72, 780 - 16 * row, line)
            canvas.showPage()
        canvas.save()
        return buffer.getvalue()

    return make


@pytest.fixture
def make_docx() -> Callable[..., bytes]:
    """Return a function that makes a Word file by calling its argument with an empty python-docx document."""

    def make(build: Callable[[docx.document.Document], object]) -> bytes:
        document = docx.Document()
        build(document)
        buffer = io.BytesIO()
        document.save(buffer)
        return buffer.getvalue()

    return make


@pytest.fixture
def png() -> bytes:
    """A small picture."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """An ingestion over an empty store."""
    made = Bench(tmp_path / "store.db")
    yield made
    await made.close()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Jobs]]:
    """Makes the jobs of a process; all of them share one file, as those before and after a restart do."""
    with ExitStack() as stack:

        def made(ingestion: FakeIngestion, fetcher: FakeFetcher | None = None, patience_s: float = 3600.0) -> Jobs:
            context.bind(context.RequestContext("r1", asyncio.get_running_loop().time() + 60))
            keeping = Workers("jobs", threads=1)
            store = JobStore(tmp_path / "store.db.jobs")
            stack.callback(store.close)
            stack.callback(keeping.close)
            fakes: Any = ingestion, fetcher or FakeFetcher()
            return Jobs(*fakes, store, keeping, patience_s)

        yield made
