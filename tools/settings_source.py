"""Every settings class and every setting, found in the installed distributions."""

import importlib
import importlib.util
import pkgutil
from dataclasses import dataclass, field

from pydantic.fields import FieldInfo

from steelyard_runtime.settings.base import Settings
from steelyard_runtime.settings.describe import allowed, default_text


class DeclaredTwiceError(Exception):
    """Two settings classes declare one name with different meanings."""


@dataclass
class Setting:
    """One setting: `owner` is the class that declares it, `readers` the distributions that read it."""

    name: str
    info: FieldInfo
    secret: bool
    owner: type[Settings]
    readers: list[str] = field(default_factory=list)


def distributions() -> list[str]:
    """The import names of the installed Steelyard packages, in order."""
    return sorted(module.name for module in pkgutil.iter_modules() if module.name.startswith("steelyard_"))


def settings_classes() -> dict[str, type[Settings]]:
    """The settings class of each distribution that has one, by the distribution's short name."""
    found: dict[str, type[Settings]] = {}
    for package in distributions():
        name = f"{package}.settings"
        if package == "steelyard_runtime" or importlib.util.find_spec(name) is None:
            continue
        module = importlib.import_module(name)
        own = [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Settings) and value.__module__ == name
        ]
        most_derived = [one for one in own if not any(one is not other and issubclass(other, one) for other in own)]
        if len(most_derived) != 1:
            raise DeclaredTwiceError(f"{name} should declare one settings class, it declares {len(most_derived)}")
        found[package.removeprefix("steelyard_")] = most_derived[0]
    return found


def settings() -> list[Setting]:
    """Every setting by name.

    Raises DeclaredTwiceError when two classes declare a name and differ in what it allows or in its default.
    """
    found: dict[str, Setting] = {}
    for reader, settings_class in settings_classes().items():
        for attribute, info in settings_class.model_fields.items():
            name = attribute.upper()
            owner = _owner(settings_class, attribute)
            known = found.setdefault(name, Setting(name, info, settings_class.is_secret(attribute), owner))
            known.readers.append(reader)
            same = (allowed(known.info), default_text(known.info)) == (allowed(info), default_text(info))
            if known.owner is not owner and not same:
                raise DeclaredTwiceError(
                    f"{name} is declared by {known.owner.__name__} and by {owner.__name__}, and differently"
                )
    return [found[name] for name in sorted(found)]


def _owner(settings_class: type[Settings], attribute: str) -> type[Settings]:
    """The class of the hierarchy that declares an attribute."""
    declaring = [base for base in settings_class.__mro__ if attribute in vars(base).get("__annotations__", {})]
    owner: type[Settings] = declaring[-1]
    return owner
