"""What a supervisor is told to run."""

import os
import uuid
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

LOG_BYTES = 8 * 2**20
"""Size at which a log file is put aside; one older file is kept."""


class ServicePlan(BaseModel):
    """One process to run: its command line, where it will listen, how it is reached, and what says that it is ready."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    command: list[str]
    host: str
    url: str
    ready_path: str
    port: int


class Plan(BaseModel):
    """The processes in start order, and how to treat them. Times are in seconds.

    `attached` ties the supervisor's life to its standard input: end of file stops it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_id: str = Field(default_factory=lambda: uuid.uuid4().hex)
    services: list[ServicePlan]
    attached: bool = False
    grace_s: float = 12.0
    backoff_first_s: float = 0.5
    backoff_longest_s: float = 30.0
    stable_s: float = 60.0
    log_bytes: int = LOG_BYTES


class RunFolder:
    """The files of one stack below its state folder: the lock, the state, and a log per process."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / "run"
        self.lock = self.path / "lock"
        self.state = self.path / "state.json"
        self.logs = state_dir / "logs"

    def log(self, name: str) -> Path:
        """The log file of a process."""
        return self.logs / f"{name}.log"

    def create(self) -> None:
        """Make the folders; only their owner can read them, because logs and settings are nobody else's business."""
        for folder in (self.path, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
            if folder.stat().st_uid == os.getuid():
                folder.chmod(0o700)
