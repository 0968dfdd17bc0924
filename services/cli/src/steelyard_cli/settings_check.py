"""Refusing to start with settings that a service would refuse."""

from .errors import ConfigurationError
from .settings import CommandSettings
from .settings_catalogue import faults, settings_classes


def check_settings() -> CommandSettings:
    """The command's own settings, once every service's are accepted; raises ConfigurationError with every fault."""
    found = faults(settings_classes())
    if found:
        raise ConfigurationError("\n".join(found))
    return CommandSettings.load()
