"""Where a link may lead: an allow-list of hosts, and never an address beyond the public internet unless it is named."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from yarl import URL

from steelyard_contracts.errors import ErrorCode, SteelyardError

Network = IPv4Network | IPv6Network
_Address = IPv4Address | IPv6Address

_LONGEST = 1024
_NOT_IN_URLS = re.compile(r"[\x00-\x20\x7f\\]")
_NAT64 = ip_network("64:ff9b::/96")
# Public by their number, but answered by a cloud's own machinery.
_CLOUD = frozenset({ip_address("168.63.129.16")})


@dataclass(frozen=True, slots=True)
class LinkPolicy:
    """Which links are taken in.

    `hosts` are names, `*.name` for everything below a name, or either with `:port`; without a port the scheme's own is
    meant. `networks` are addresses that are allowed although they are not public.
    """

    hosts: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()

    @property
    def enabled(self) -> bool:
        """Whether any link is taken in."""
        return bool(self.hosts)

    def checked_url(self, text: str) -> URL:
        """The link without its fragment; raises `link_refused`, whose detail names the host at most."""
        if len(text) > _LONGEST or _NOT_IN_URLS.search(text):
            raise refused(f"has a space, a backslash, a control character or more than {_LONGEST} characters")
        try:
            url = URL(text).with_fragment(None)
            host, port = url.host, url.explicit_port
        except ValueError:
            raise refused("is not a URL") from None
        if url.scheme not in ("http", "https") or not host:
            raise refused("is not an http or https URL with a host")
        if url.user is not None or url.password is not None:
            raise refused("has user information")
        if ":" in host or host.replace(".", "").isdigit():
            # An address in place of a name is connected to as it is: no resolver sees it.
            self.check_addresses([host])
        name = _name(host)
        asked = name if port in (None, 80 if url.scheme == "http" else 443) else f"{name}:{port}"
        if not any(_covers(entry, asked) for entry in self.hosts):
            raise refused(f"leads to {asked}, which DATAPREP_LINK_HOSTS does not name")
        return url

    def check_addresses(self, addresses: Iterable[str]) -> None:
        """Raise `link_refused` unless every address is public, or within `networks`."""
        for text in addresses:
            try:
                # A scope id says which interface a link-local address is on.
                address = ip_address(text.partition("%")[0])
            except ValueError:
                # `127.1` and `2130706433` are addresses too, to those who connect to them.
                raise refused("leads to an address in an unusual form") from None
            if not any(address in network for network in self.networks) and not _is_public(address):
                raise refused("leads to an address that is not public, and DATAPREP_LINK_NETWORKS does not name it")


def refused(reason: str) -> SteelyardError:
    """The error for a link that is not followed."""
    return SteelyardError(ErrorCode.LINK_REFUSED, f"the link {reason}")


def _covers(entry: str, asked: str) -> bool:
    entry = _name(entry)
    return asked == entry or (entry.startswith("*.") and asked.endswith(entry[1:]) and asked != entry[1:])


def _name(host: str) -> str:
    return host.lower().rstrip(".")


def _is_public(address: _Address) -> bool:
    """Whether an address, and each one that is embedded in it, is reached over the public internet only."""
    if isinstance(address, IPv6Address):
        inner = _embedded(address)
        if inner:
            return all(map(_is_public, inner))
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and address not in _CLOUD


def _embedded(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses to which a gateway on the way would translate."""
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address.teredo is not None:
        return list(address.teredo)
    if address in _NAT64:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return []
