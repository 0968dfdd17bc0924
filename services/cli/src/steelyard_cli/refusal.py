"""What a contract refuses of a command line, by the options that the user knows."""

from collections.abc import Mapping

from pydantic import ValidationError

from .errors import ConfigurationError


def refused(error: ValidationError, options: Mapping[str, str]) -> ConfigurationError:
    """The error that names each fault by its option; `options` has one for every field that the command fills."""
    faults = error.errors(include_url=False, include_input=False)
    return ConfigurationError("\n".join(f"{options[str(fault['loc'][0])]}: {fault['msg']}" for fault in faults))
