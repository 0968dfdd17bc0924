"""The health check inside every image: `python healthcheck.py PORT PATH` succeeds when the service is ready.

Only status 200 counts. A service that is up but whose dependency is missing answers 503 and is not healthy; its reply,
which names the dependency and the cause, is what `docker inspect` then shows.
"""

import http.client
import sys

_TIMEOUT_S = 4
_SHOWN_BYTES = 2000


def main(port: str, path: str) -> int:
    """Ask once; returns the exit code: 0 ready, 1 not."""
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=_TIMEOUT_S)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        sys.stdout.write(reply.read(_SHOWN_BYTES).decode("utf-8", "replace"))
    except (OSError, http.client.HTTPException) as error:
        sys.stdout.write(f"no answer on port {port}: {type(error).__name__}: {error}")
        return 1
    finally:
        connection.close()
    return 0 if reply.status == http.client.OK else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
