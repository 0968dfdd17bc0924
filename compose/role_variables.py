"""The variables of the Ansible role that are not settings of a service, and the entry points that take them."""

from typing import Any

ENTRIES = {
    "render": "Only render what a release holds",
    "verify": "Ask what runs whether it is ready, guarded and answers",
    "rollback": "Go back to the release of before",
    "backup": "Fetch a consistent copy of the host's documents, jobs and ledgers",
    "restore": "Bring a copy back and prove its row counts",
    "rotate": "Give the stack a new service token",
    "uninstall": "Take the services away",
}


def _image(of: str) -> dict[str, Any]:
    return {"type": "str", "description": f"Image of {of} with its tag, in place of the Compose file's."}


def _secret(what: str) -> dict[str, Any]:
    return {"type": "str", "no_log": True, "description": what}


OWN: dict[str, dict[str, Any]] = {
    "steelyard_root": {"type": "path", "description": "Folder of releases and secrets on the host."},
    "steelyard_compose_source": {"type": "path", "description": "Folder of the Compose files on the controller."},
    "steelyard_address": {
        "type": "str",
        "description": "Address under which the hosts of one stack reach this one; ansible_host unless it is given.",
    },
    "steelyard_image_prefix": {
        "type": "str",
        "description": "What stands before the names of our images; a registry's host and path lets hosts pull them.",
    },
    "steelyard_image_tag": {"type": "str", "description": "Tag of our images."},
    "steelyard_image_lock": {
        "type": "path",
        "description": "File on the controller with the digest of every image, made by `python -m compose.digests` or"
        " by bundle.yml; an image that is not in it is refused.",
    },
    "steelyard_image_archive": {
        "type": "path",
        "description": "Archive of images on the controller, made by bundle.yml, for hosts that lack them.",
    },
    "steelyard_models_archive": {
        "type": "path",
        "description": "Archive of model files on the controller, made by bundle.yml; without it, hosts fetch them.",
    },
    "steelyard_arangodb_image": _image("ArangoDB"),
    "steelyard_tei_image": _image("Text Embeddings Inference for the reranker"),
    "steelyard_embedder_image": _image("Text Embeddings Inference for the embedding model"),
    "steelyard_vllm_image": _image("vLLM"),
    "steelyard_prometheus_image": _image("Prometheus"),
    "steelyard_grafana_image": _image("Grafana"),
    "steelyard_collector_image": _image("the OpenTelemetry collector"),
    "steelyard_traces_url": {
        "type": "str",
        "description": "Base URL of an OTLP/HTTP server that keeps traces; with it, the group observability runs a"
        " collector that all services of the stack send to.",
    },
    "steelyard_gateway_address": {"type": "str", "description": "Address of the host that the gateway listens on."},
    "steelyard_gateway_port": {"type": "int", "description": "Port of the host that the gateway listens on."},
    "steelyard_grafana_address": {"type": "str", "description": "Address of the host that Grafana listens on."},
    "steelyard_grafana_port": {"type": "int", "description": "Port of the host that Grafana listens on."},
    "steelyard_embedded_llm": {
        "type": "bool",
        "description": "Run the packages' own model server as well; never beside vLLM.",
    },
    "steelyard_model_servers": {
        "type": "str",
        "choices": ["packages", "cpu", "cuda", "t4"],
        "description": "Model servers beside the services: the packages', TEI on the CPU, or TEI and vLLM on a GPU.",
    },
    "steelyard_tokenizer_folder": {
        "type": "path",
        "description": "Folder on the host with the served model's tokenizer.json, for a server that counts no tokens.",
    },
    "steelyard_embedding_tokenizer_folder": {
        "type": "path",
        "description": "Folder on the host with the tokenizer.json and tokenizer_config.json of a server's embedding"
        " model.",
    },
    "steelyard_service_token": _secret(
        "The services' shared secret, from a vault; without it one is made once on the host."
    ),
    "steelyard_embedding_api_key": _secret("Key for the server of EMBEDDING_SERVER_URL, from a vault."),
    "steelyard_rerank_api_key": _secret("Key for the reranking server of RERANK_BACKEND, from a vault."),
    "steelyard_llm_api_key": _secret("Key for the model server of LLM_URL, from a vault."),
    "steelyard_arango_password": _secret(
        "Password of ARANGO_USER, from a vault; without it one is made once on the host of the group arangodb."
    ),
    "steelyard_grafana_password": _secret(
        "Password of Grafana's user admin, from a vault; without it one is made once on its host."
    ),
    "steelyard_api_keys_source": {
        "type": "path",
        "description": "File of the gateway's API keys on the controller, made by `steelyard keys add`; without it, the"
        " one on the host stays as it is.",
    },
    "steelyard_verify_key": _secret(
        "An API key, from a vault, with which a release is asked the smoke question; without it, the release is only"
        " asked whether it is ready and whether it refuses who has no key."
    ),
    "steelyard_verify_question": {"type": "str", "description": "The smoke question."},
    "steelyard_verify_expect": {"type": "str", "description": "Regular expression that its answer must match."},
    "steelyard_gate_manifest": {
        "type": "path",
        "description": "Frozen manifest on the controller; with it, a release is held against the evidence gates.",
    },
    "steelyard_gate_run": {"type": "path", "description": "Finished run of that manifest on the controller."},
    "steelyard_gate_thresholds": {"type": "path", "description": "The gates' thresholds on the controller."},
    "steelyard_gate_command": {"type": "str", "description": "The steelyard command on the controller."},
    "steelyard_restore_from": {
        "type": "path",
        "description": "Folder of one backup on the controller, which restore.yml brings back.",
    },
    "steelyard_backup_folder": {"type": "path", "description": "Folder of backups on the controller."},
    "steelyard_purge_data": {
        "type": "bool",
        "description": "Let uninstall.yml delete documents, ledgers, models and secrets as well.",
    },
    "steelyard_releases_kept": {"type": "int", "description": "Releases that are kept on the host."},
    "steelyard_wait_timeout_s": {"type": "int", "description": "Time for all services to become healthy."},
}
"""Variables of the role that are not settings of a service."""

PASSED_ON = {
    "steelyard_image_prefix": "IMAGE_PREFIX",
    "steelyard_arangodb_image": "IMAGE_ARANGODB",
    "steelyard_tei_image": "IMAGE_TEI",
    "steelyard_embedder_image": "IMAGE_EMBEDDER",
    "steelyard_vllm_image": "IMAGE_VLLM",
    "steelyard_prometheus_image": "IMAGE_PROMETHEUS",
    "steelyard_grafana_image": "IMAGE_GRAFANA",
    "steelyard_collector_image": "IMAGE_COLLECTOR",
    "steelyard_grafana_address": "GRAFANA_ADDRESS",
    "steelyard_grafana_port": "GRAFANA_PORT",
}
"""Those that a release's env file passes on to Compose as they are, when they are given."""
