"""Looks for secrets where none may be: on the hosts and in what the playbooks printed."""

from .fleet import Fleet
from .journal import expect

_PLACES = {
    "docker inspect": "docker inspect $(docker ps -aq)",
    "images": "docker image inspect $(docker image ls -q)",
    "logs of containers": "for it in $(docker ps -aq); do docker logs $it 2>&1; done",
    "environments and command lines": "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'",
    "releases": "cat /opt/steelyard/releases/*/* /opt/steelyard/releases/*/.env",
    "journal": "journalctl --no-pager",
}
# The secrets come by standard input: on a command line they would be found where this looks.
_FILES = (
    "sought=$(mktemp) && cat >$sought;"
    " find /opt/steelyard /etc /root /var/log /var/tmp /srv -xdev -type f -not -path '*/secrets/*'"
    " -exec grep -lF -f $sought {} +; rm $sought"
)


class Leaks:
    """The secrets of a run, and the search for them."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.secrets: set[str] = set()

    def outputs(self) -> None:
        """Raise LabError when the output of a playbook shows a secret."""
        for number, output in enumerate(self._fleet.controller.outputs):
            expect(not self._in(output), f"output {number} of a playbook shows a secret")

    def everywhere(self) -> str:
        """Search outputs and hosts; returns how much was searched. Raises LabError."""
        self.outputs()
        for host in self._fleet.hosts:
            for place, command in _PLACES.items():
                text = host.run(command)
                expect(bool(text), f"nothing to search: {place} of {host.name}")
                expect(not self._in(text), f"{place} of {host.name} shows a secret")
            found = host.run(_FILES, stdin="\n".join(sorted(self.secrets)) + "\n")
            expect(not found, f"files of {host.name} show a secret: {found}")
        return (
            f"{len(self.secrets)} secrets in {len(_PLACES) + 1} places of {len(self._fleet.hosts)} hosts and in"
            f" {len(self._fleet.controller.outputs)} outputs of playbooks: in none but their files"
        )

    def _in(self, text: str) -> bool:
        return any(secret in text for secret in self.secrets)
