"""`python -m tests.arangosim --port 0 --version 3.12.6`: the server as a process; it prints its URL."""

import argparse
import json
import signal
import threading
from pathlib import Path

from tests.arangosim.clock import RealClock
from tests.arangosim.server import ArangoSim
from tests.arangosim.state import ServerState


def load(state: ServerState, path: Path) -> None:
    """Fill databases from `{"<database>": {"<collection>": [documents]}}`; `_from` makes a collection an edge one."""
    for name, collections in json.loads(path.read_text()).items():
        database = state.databases.get(name) or state.create_database(name)
        for collection_name, documents in collections.items():
            kind = 3 if any("_from" in document for document in documents) else 2
            collection = database.create_collection({"name": collection_name, "type": kind})
            for document in documents:
                collection.insert(document)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.arangosim", description="ArangoDB protocol server for tests")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--version", default="3.12.6", help="the ArangoDB version to play, from 3.12.4")
    parser.add_argument("--password", default="", help="of root")
    parser.add_argument("--no-vector-index", action="store_true", help="as without the vector index start option")
    parser.add_argument("--data", type=Path, help="JSON file with databases, collections and documents")
    options = parser.parse_args()
    sim = ArangoSim(
        options.version,
        port=options.port,
        root_password=options.password,
        vector_index=not options.no_vector_index,
        clock=RealClock(),
    )
    if options.data is not None:
        load(sim.state, options.data)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with sim:
        print(sim.url, flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
