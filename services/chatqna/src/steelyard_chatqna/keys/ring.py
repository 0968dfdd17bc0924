"""The keys as the running gateway knows them: read again whenever the file has changed."""

from pathlib import Path

from steelyard_runtime import logs

from .file import KeyFileError, read_stamped, stamp_of
from .record import ApiKey, id_of, proves


class KeyRing:
    """Looks keys up in a file that others replace. Raises KeyFileError when the first reading fails.

    The file is looked at for every request, so a revoked key is refused from the next request on. While the file is
    unusable no key is: the keys of before are forgotten, because one of them may be what was to be revoked.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._keys: dict[str, ApiKey] = {}
        self._fault: str | None = None
        self._stamp: tuple[int, ...] | None = None
        self._read()

    def find(self, shown: str) -> ApiKey | None:
        """The key that `shown` proves, None when it proves none. Raises KeyFileError while the file is unusable."""
        self.check()
        key = self._keys.get(id_of(shown))
        return key if proves(shown, key) else None

    def check(self) -> None:
        """Read the file if it has changed; raises KeyFileError while it is unusable."""
        if self._stamp is not None and self._stamp == self._present():
            return
        try:
            self._read()
        except KeyFileError as error:
            self._keys, self._stamp = {}, None
            if self._fault != str(error):
                self._fault = str(error)
                logs.get().error("api_keys_unusable", cause=self._fault)
            raise
        self._fault = None
        logs.get().info("api_keys_read", usable=sum(key.revoked is None for key in self._keys.values()))

    def _read(self) -> None:
        keys, self._stamp = read_stamped(self._path)
        self._keys = {key.id: key for key in keys.keys}

    def _present(self) -> tuple[int, ...] | None:
        try:
            return stamp_of(self._path.stat())
        except OSError:
            return None
