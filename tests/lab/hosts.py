"""Laboratory hosts: containers with systemd and sshd, with neither an engine nor anything of Steelyard."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .journal import LabError, eventually

IMAGE = "steelyard-lab/host"
NETWORK = "steelyard-lab"
_PREFIX = "steelyard-lab-"
_OPTIONS = [
    *("--cap-add=ALL", "--cap-drop=SYS_RESOURCE", "--cgroupns=private", "--stop-signal=SIGRTMIN+3"),
    *(f"--security-opt={it}=unconfined" for it in ("seccomp", "apparmor", "systempaths")),
    *("--tmpfs=/run", "--tmpfs=/run/lock", "--tmpfs=/tmp"),
    "--device-cgroup-rule=a *:* rwm",
]
_PATIENCE_S = 180


def run(
    *words: str,
    check: bool = True,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    errors: bool = False,
) -> str:
    """The output of a command of this machine, with what it wrote as errors if they are wanted. Raises LabError."""
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, input=stdin, env={**os.environ, **(environment or {})}
    )
    if check and done.returncode != 0:
        raise LabError(f"{' '.join(words)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr if errors else done.stdout


@dataclass(frozen=True)
class Host:
    """One host: its name, its address on the laboratory's network, and the key that opens it."""

    name: str
    address: str
    key: Path

    def run(self, command: str, check: bool = True, stdin: str | None = None) -> str:
        """The output of a shell command over ssh. Raises LabError."""
        return run(*self.ssh, command, check=check, stdin=stdin)

    @property
    def ssh(self) -> list[str]:
        """The words of an ssh command without the command on the host."""
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "ConnectTimeout=5"]
        return ["ssh", "-i", str(self.key), *(w for o in options for w in ("-o", o)), f"root@{self.address}"]

    def reboot(self) -> None:
        """Restart the whole host, its first process included, and wait until its engine answers."""
        run("docker", "restart", "--time", "30", _PREFIX + self.name)
        wait_for(self, "docker info")

    def containers(self) -> dict[str, str]:
        """The id of each running container by its service."""
        lines = self.run("docker ps --no-trunc --format '{{.Label \"com.docker.compose.service\"}} {{.ID}}'")
        return dict(line.split() for line in lines.splitlines())


def start(names: Sequence[str], folder: Path) -> list[Host]:
    """Start hosts that know one fresh key. Raises LabError when one does not answer."""
    key = folder / "key"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    run("docker", "network", "create", NETWORK)
    found = []
    for name in names:
        whole = _PREFIX + name
        volume = f"--volume={whole}:/var/lib/docker"
        run("docker", "run", "-d", "--name", whole, "--hostname", name, "--network", NETWORK, *_OPTIONS, volume, IMAGE)
        public = key.with_suffix(".pub").read_text(encoding="utf-8")
        write = "install -d -m 0700 /root/.ssh && cat >/root/.ssh/authorized_keys"
        run("docker", "exec", "-i", whole, "sh", "-c", write, stdin=public)
        networks = json.loads(run("docker", "inspect", whole))[0]["NetworkSettings"]["Networks"]
        found.append(Host(name, networks[NETWORK]["IPAddress"], key))
    for host in found:
        wait_for(host)
    return found


def wait_for(host: Host, command: str = "true") -> None:
    """Wait until a command on a host succeeds over ssh. Raises LabError."""
    eventually(
        lambda: subprocess.run([*host.ssh, command], capture_output=True, check=False).returncode == 0,
        _PATIENCE_S,
        f"`{command}` does not succeed on {host.name}",
    )
