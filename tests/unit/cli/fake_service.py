"""A stand-in for a service: it listens, says so, and answers its readiness as the test asks it to.

`FAKE_<NAME>` is what it does: `crash` ends with code 1 at once; `crash-once` does so the first time only; `refuse`
ends with code 2 like refused settings; `unready` answers 503 with a cause; `silent` never listens; `stubborn` ignores
SIGTERM; `worker` starts a process of its own that ignores SIGTERM.
"""

import json
import os
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def note(name: str, event: str) -> None:
    with (Path(os.environ["FAKE_FOLDER"]) / "events.txt").open("a") as stream:
        stream.write(f"{name} {event}\n")


def serve(name: str, port_variable: str) -> None:
    folder = Path(os.environ["FAKE_FOLDER"])
    behaviour = os.environ.get(f"FAKE_{name.upper()}", "")
    note(name, "started")
    if behaviour == "crash" or (behaviour == "crash-once" and not (folder / f"{name}.crashed").exists()):
        (folder / f"{name}.crashed").touch()
        sys.stderr.write("the model file is torn\nRuntimeError: giving up\n")
        sys.exit(1)
    if behaviour == "refuse":
        sys.stderr.write(f"{name}: {port_variable}='x' should be a whole number\n")
        sys.exit(2)
    if behaviour == "silent":
        signal.pause()
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: (note(name, "stopped"), sys.exit(0)))
    if behaviour == "worker":
        # A SIGTERM that comes before the worker ignores it would end the worker, so its first byte is waited for.
        worker = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
        process = subprocess.Popen([sys.executable, "-c", worker], stdout=subprocess.PIPE)
        process.stdout.readline()
        (folder / "worker.pid").write_text(str(process.pid))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            ready = behaviour != "unready"
            dependency = {"name": "store", "ready": ready, "cause": None if ready else "the store file is locked"}
            body = json.dumps({"service": name, "ready": ready, "dependencies": [dependency]}).encode()
            self.send_response(200 if ready else 503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            sys.stderr.write("a request was answered\n")

    port = int(os.environ[port_variable])
    if "--port" in sys.argv:
        port = int(sys.argv[sys.argv.index("--port") + 1])
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    event = "ready" if name == "llm" else "listening"
    sys.stdout.write(json.dumps({"event": event, "service": name, "host": "127.0.0.1", "port": port}) + "\n")
    sys.stdout.flush()
    server.serve_forever()
