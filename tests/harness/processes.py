"""Real service processes for tests: started on free ports, waited for by their own readiness, stopped at the end."""

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import requests

START_TIMEOUT_S = 60.0


@dataclass
class ServiceProcess:
    """One running service. `stderr` holds its latest log lines."""

    name: str
    url: str
    process: subprocess.Popen[str]
    stderr: deque[str] = field(default_factory=lambda: deque(maxlen=2000))

    reader: threading.Thread | None = None

    def stop(self) -> None:
        """End it as a supervisor would."""
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._reap()

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self._reap()

    def _reap(self) -> None:
        self.process.wait()
        if self.reader is not None:
            self.reader.join(10)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def ready(self) -> dict[str, object]:
        """The service's own readiness report, whatever its status."""
        return requests.get(f"{self.url}/ready", timeout=10).json()


def start(name: str, environment: Mapping[str, str], command: Sequence[str] | None = None) -> ServiceProcess:
    """Start `python -m steelyard_<name>` (or `command`) on a free port and return once it listens."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("STEELYARD_")}
    model_dir = os.environ.get("STEELYARD_MODEL_DIR")
    if model_dir is not None:
        inherited["STEELYARD_MODEL_DIR"] = model_dir
    process = subprocess.Popen(
        command or [sys.executable, "-m", f"steelyard_{name}"],
        env={**inherited, f"{name.upper()}_PORT": "0", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started = ServiceProcess(name, "", process)
    started.reader = threading.Thread(target=_drain, args=(process.stderr, started.stderr), daemon=True)
    started.reader.start()
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        started.stop()
        raise RuntimeError(f"{name} did not start: {' '.join(started.stderr)}")
    said = json.loads(line)
    started.url = f"http://{said['host']}:{said['port']}"
    return started


def wait_ready(service: ServiceProcess, timeout_s: float = START_TIMEOUT_S) -> None:
    """Return once the service says that it is ready; fail with its causes when it does not in time."""
    until = time.monotonic() + timeout_s
    last: object = "no answer"
    while time.monotonic() < until:
        try:
            last = service.ready()
        except requests.RequestException as error:
            last = error
        else:
            if isinstance(last, dict) and last.get("ready"):
                return
        if service.process.poll() is not None:
            break
        threading.Event().wait(0.05)
    raise AssertionError(f"{service.name} is not ready: {last}; log: {' '.join(list(service.stderr)[-5:])}")


def _drain(stream: object, lines: deque[str]) -> None:
    for line in stream:  # type: ignore[attr-defined]
        lines.append(line.rstrip())
