#!/usr/bin/env bash
# prepare.sh FOLDER LOGS: makes the images, the host's image, and in FOLDER the bundle of images and models. Runs inside
# sandbox.sh; PIP_CONFIG_FILE and COMPOSE_PARALLEL_LIMIT go through to the build.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(cd "$1" && pwd)
logs=$(cd "$2" && pwd)
models=(all-minilm-l6-v2 qwen2.5-coder-0.5b-instruct-q4_k_m smollm2-135m-instruct)

timed() {
    local name=$1 began=$SECONDS
    "${@:2}" >"$logs/$name.log" 2>&1 || { tail -n 40 "$logs/$name.log" >&2; exit 1; }
    echo "$name: $((SECONDS - began)) s"
}

timed host-image tests/lab/host-image.sh &
host_image=$!
timed base-image compose/local-base.sh
export STEELYARD_SERVICE_TOKEN_FILE=/dev/null API_KEYS_FOLDER=$folder COMPOSE_ANSI=never
export COMPOSE_PARALLEL_LIMIT=${COMPOSE_PARALLEL_LIMIT:-2}
timed images docker compose -f compose/compose.yaml -f compose/compose.embedded.yaml --profile tools build --quiet
wait "$host_image"
timed models .venv/bin/steelyard models fetch "${models[@]}"
cd ansible
export ANSIBLE_CONFIG=$PWD/ansible.cfg
timed bundle ansible-playbook bundle.yml -e "bundle_folder=$folder" \
    -e "{\"bundle_models\": [$(printf '"%s",' "${models[@]}" | sed 's/,$//')]}"
