"""Settings of the ingestion service."""

import re
from ipaddress import ip_network
from typing import Annotated

from pydantic import AfterValidator, Field

from steelyard_runtime.settings.groups import (
    EmbeddingTokenizerSettings,
    EmbeddingUrlSettings,
    ProcessSettings,
    ScopeSettings,
    StoreSettings,
    UploadSettings,
)
from steelyard_runtime.settings.types import Allowed, FloatSetting, IntSetting, OptionalNamesSetting, is_url_host

from .links.policy import Network

_LARGEST_PORT = 65535


_LINK_HOST = re.compile(r"(\*\.)?(?P<host>[^*:\s]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?")


def _hosts(entries: tuple[str, ...] | None) -> tuple[str, ...] | None:
    for entry in entries or ():
        found = _LINK_HOST.fullmatch(entry)
        port = "1" if found is None else found["port"] or "1"
        if found is None or not is_url_host(found["host"].strip("[]")) or not 1 <= int(port) <= _LARGEST_PORT:
            raise ValueError(f"has {entry!r}, which is no host such as docs.example.org or *.example.org:8443")
    return entries


def _networks(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    for name in names or ():
        try:
            ip_network(name)
        except ValueError:
            raise ValueError(f"has {name!r}, which is not a network such as 10.1.0.0/16") from None
    return names


class DataprepSettings(
    ProcessSettings, ScopeSettings, StoreSettings, EmbeddingTokenizerSettings, EmbeddingUrlSettings, UploadSettings
):
    """What the ingestion service reads."""

    dataprep_port: Annotated[IntSetting, Field(ge=0, le=65535)] = Field(
        default=5000, description="Port of the ingestion service; 0 takes a free one."
    )
    chunk_max_tokens: Annotated[IntSetting, Field(ge=32, le=100_000)] = Field(
        default=200, description="Largest chunk in the embedding model's tokens."
    )
    chunk_overlap_tokens: Annotated[IntSetting, Field(ge=0, le=10_000)] = Field(
        default=0, description="Tokens that neighbouring chunks of a section share."
    )
    dataprep_max_file_mb: Annotated[IntSetting, Field(ge=1, le=1024)] = Field(
        default=64, description="Largest file that is taken in, in MiB."
    )
    parser_timeout_s: Annotated[FloatSetting, Field(gt=0, le=3600)] = Field(
        default=120.0, description="Time that parsing and cutting one file may take; half of it as CPU time."
    )
    parser_memory_mb: Annotated[IntSetting, Field(ge=256, le=65_536)] = Field(
        default=1536, description="Memory that parsing and cutting one file may take, in MiB."
    )
    dataprep_link_hosts: Annotated[
        OptionalNamesSetting, AfterValidator(_hosts), Allowed("hosts separated by commas")
    ] = Field(
        default=None,
        description="Hosts whose links are taken in, such as `docs.example.org` or `*.example.org:8443`; empty = none.",
    )
    dataprep_link_networks: Annotated[
        OptionalNamesSetting, AfterValidator(_networks), Allowed("networks separated by commas")
    ] = Field(
        default=None,
        description="Networks beyond the public internet that links may lead to, such as `10.1.0.0/16`; empty = none.",
    )

    @property
    def link_networks(self) -> tuple[Network, ...]:
        """The networks as they are compared with."""
        return tuple(ip_network(name) for name in self.dataprep_link_networks or ())
