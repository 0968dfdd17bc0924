"""Write every file that is derived from the code, or check that none has drifted.

python -m tools.generate            writes
python -m tools.generate --check    writes nothing; names each file that differs and exits with 1
"""

import argparse
import sys
from pathlib import Path

from . import adr_pages, contract_pages, openapi_pages, rerank_pages, settings_pages
from .settings_source import settings

ROOT = Path(__file__).resolve().parent.parent
DECISIONS = Path("docs/adr")
REFERENCE = Path("docs/reference")
NAMES = Path("services/runtime/src/steelyard_runtime/settings/names.txt")


def generated() -> dict[Path, str]:
    """The content of every generated file, by its path from the root of the repository."""
    found = settings()
    files = {
        NAMES: settings_pages.names_txt(found),
        Path("env.template"): settings_pages.env_template(found),
        REFERENCE / "settings.md": settings_pages.settings_md(found),
        REFERENCE / "contracts.schema.json": contract_pages.schema_json(),
        REFERENCE / "errors.md": contract_pages.errors_md(),
        REFERENCE / "reasons.md": contract_pages.reasons_md(),
        REFERENCE / "rerank_reasons.md": rerank_pages.rerank_reasons_md(),
        REFERENCE / "headers.md": contract_pages.headers_md(),
        DECISIONS / "README.md": adr_pages.adr_index_md(ROOT / DECISIONS),
    }
    for service, document in openapi_pages.openapi_documents().items():
        files[REFERENCE / "openapi" / f"{service}.json"] = document
    return files


def drifted(files: dict[Path, str], root: Path = ROOT) -> list[Path]:
    """The files whose content on disk is not the generated one, and OpenAPI documents that no service makes."""
    stale = [path for path, content in files.items() if not _holds(root / path, content)]
    documents = (path.relative_to(root) for path in sorted((root / REFERENCE / "openapi").glob("*.json")))
    return stale + [path for path in documents if path not in files]


def _holds(path: Path, content: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == content


def main() -> int:
    """Run the generator; returns the exit code."""
    arguments = argparse.ArgumentParser(prog="python -m tools.generate", description=__doc__)
    arguments.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a file has drifted")
    options = arguments.parse_args()
    files = generated()
    stale = drifted(files)
    for path in stale:
        sys.stdout.write(f"{'drifted' if options.check else 'written'}: {path}\n")
        if options.check:
            continue
        if path in files:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(files[path], encoding="utf-8")
        else:
            (ROOT / path).unlink()
    count = files[NAMES].count("\n") - 1
    sys.stdout.write(f"{count} settings in all, fewer than {settings_pages.LIMIT} are wanted\n")
    return 1 if count >= settings_pages.LIMIT or (options.check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())
