#!/usr/bin/env bash
# Brings what the laboratory needs into a folder: images, the bundle of them and of the models, and the host's image.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

docker image inspect python:3.11-slim-bookworm >/dev/null 2>&1 || compose/local-base.sh
export STEELYARD_SERVICE_TOKEN_FILE=/dev/null API_KEYS_FOLDER=$folder COMPOSE_PARALLEL_LIMIT=1 COMPOSE_ANSI=never
docker compose -f compose/compose.yaml -f compose/compose.embedded.yaml --profile tools build --quiet
docker image inspect steelyard-lab/host >/dev/null 2>&1 || tests/lab/host-image.sh
.venv/bin/steelyard models fetch all-minilm-l6-v2 qwen2.5-coder-0.5b-instruct-q4_k_m smollm2-135m-instruct
cd ansible
ANSIBLE_CONFIG=$PWD/ansible.cfg ansible-playbook bundle.yml -e "bundle_folder=$folder" \
    -e '{"bundle_models": ["all-minilm-l6-v2", "qwen2.5-coder-0.5b-instruct-q4_k_m", "smollm2-135m-instruct"]}'
