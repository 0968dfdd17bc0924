"""OPEA's megaservice over the same stubs, for `gateway_bench --beside-opea`; runs in an environment with `opea-comps`.

    python opea_megaservice.py STUBS_PORT

It is the orchestration that OPEA's ChatQnA example has: four remote services in a row, the last one streaming. Replies
are passed on as they are, without the example's own rewriting, which makes it faster than the example.
"""

import os
import socket
import sys
from itertools import pairwise

for variable in ("no_proxy", "NO_PROXY"):
    os.environ[variable] = "127.0.0.1,localhost"
os.environ["LOGFLAG"] = ""

from comps import MegaServiceEndpoint, MicroService, ServiceOrchestrator, ServiceRoleType, ServiceType  # noqa: E402
from comps.cores.proto.docarray import LLMParams  # noqa: E402
from fastapi import Request  # noqa: E402
from fastapi.responses import StreamingResponse  # noqa: E402

STAGES = (
    ("embedding", "/v1/embeddings", ServiceType.EMBEDDING),
    ("retriever", "/v1/retrieval", ServiceType.RETRIEVER),
    ("rerank", "/v1/reranking", ServiceType.RERANK),
    ("llm", "/v1/chat/completions", ServiceType.LLM),
)


def orchestrator(port: int) -> ServiceOrchestrator:
    """The four stages, each a remote service behind `port`."""
    made = ServiceOrchestrator()
    services = [
        MicroService(name=name, host="127.0.0.1", port=port, endpoint=path, use_remote_service=True, service_type=kind)
        for name, path, kind in STAGES
    ]
    for service in services:
        made.add(service)
    for one, following in pairwise(services):
        made.flow_to(one, following)
    return made


def main() -> None:
    """Serve on a free port and print it."""
    megaservice = orchestrator(int(sys.argv[1]))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    async def handle(request: Request) -> StreamingResponse:
        body = await request.json()
        parameters = LLMParams(stream=True, max_tokens=64)
        result, _ = await megaservice.schedule(
            initial_inputs={"text": body["messages"][0]["content"]}, llm_parameters=parameters
        )
        return next(reply for reply in result.values() if isinstance(reply, StreamingResponse))

    service = MicroService(
        name="chatqna",
        service_role=ServiceRoleType.MEGASERVICE,
        host="127.0.0.1",
        port=port,
        endpoint=str(MegaServiceEndpoint.CHAT_QNA),
        input_datatype=dict,
        output_datatype=dict,
    )
    service.add_route("/v1/chat/completions", handle, methods=["POST"])
    sys.stdout.write(f"listening on {port}\n")
    sys.stdout.flush()
    service.start()


if __name__ == "__main__":
    main()
