"""The meanings that stand as a string under a constant or an enum's member, read from the source."""

import ast
import inspect
from textwrap import dedent
from types import ModuleType


class UndocumentedError(Exception):
    """A constant or member has no meaning under it."""


def of_enum(member_class: type) -> dict[str, str]:
    """Meaning of each member of an enum, by the member's name; raises UndocumentedError naming what has none."""
    tree = ast.parse(dedent(inspect.getsource(member_class)))
    definition = tree.body[0]
    assert isinstance(definition, ast.ClassDef)
    return _meanings(definition.body, member_class.__name__)


def of_module(module: ModuleType) -> dict[str, str]:
    """Meaning of each upper-case constant of a module; raises UndocumentedError naming what has none."""
    return _meanings(ast.parse(inspect.getsource(module)).body, module.__name__)


def _meanings(body: list[ast.stmt], where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
            continue
        name = statement.targets[0].id
        if not name.isupper() or name.startswith("_"):
            continue
        value = following.value if isinstance(following, ast.Expr) else None
        if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            raise UndocumentedError(f"{where}.{name} has no meaning in a string under it")
        found[name] = " ".join(value.value.split())
    return found
