"""The chunks that were read last, so that a popular one is read once for many answers."""

from collections import OrderedDict
from threading import Lock

from .chunk_index import ChunkIndex
from .chunks import read_chunk


class RememberedChunks:
    """Keeps the indexes of the last chunks: at most `most` with at most `characters` together, or one that is longer.

    Several threads may ask at once. Two that miss the same chunk both read it, which is a waste and no error.
    """

    def __init__(self, most: int, characters: int) -> None:
        self._most = most
        self._characters = self._free = characters
        self._known: OrderedDict[tuple[str, str], ChunkIndex] = OrderedDict()
        self._lock = Lock()

    def index(self, text: str, label: str = "") -> ChunkIndex:
        """Return the index of a chunk with its label, which is shared and must not be changed."""
        key = (text, label)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        read = ChunkIndex(read_chunk(text, label))
        self._keep(key, read)
        return read

    def _keep(self, key: tuple[str, str], read: ChunkIndex) -> None:
        with self._lock:
            if key in self._known:
                return
            self._known[key] = read
            self._free -= len(key[0]) + len(key[1])
            while len(self._known) > 1 and (self._free < 0 or len(self._known) > self._most):
                (text, label), _ = self._known.popitem(last=False)
                self._free += len(text) + len(label)

    def forget(self) -> None:
        """Forget all chunks."""
        with self._lock:
            self._free = self._characters
            self._known.clear()


REMEMBERED = RememberedChunks(most=150, characters=500_000)
"""The chunks of all answers of this process. Reading them is two thirds of the work, and memory is what it costs."""
