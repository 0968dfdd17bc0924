"""A README with a table of modules has every module of its distribution in it, and no other."""

import re
from pathlib import Path

import pytest

SERVICES = Path(__file__).parents[2] / "services"
TABLE = re.compile(r"^\| module \|[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)", re.MULTILINE)
TABLES = {
    readme.parent.name: found[1]
    for readme in sorted(SERVICES.glob("*/README.md"))
    if (found := TABLE.search(readme.read_text(encoding="utf-8")))
}


def test_the_libraries_that_everything_imports_have_tables() -> None:
    assert {"contracts", "models", "runtime"} <= set(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_the_table_has_every_module_once(name: str) -> None:
    named = [module for row in TABLES[name].splitlines() for module in re.findall(r"`(\w+)`", row.split("|")[1])]
    package = SERVICES / name / "src" / f"steelyard_{name}"
    modules = [path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
    assert sorted(named) == sorted(one for one in modules if not one.startswith("__"))
