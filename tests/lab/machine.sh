#!/usr/bin/env bash
# Installs on this machine what the laboratory needs and it has not: an engine, Compose, mmdebstrap, ssh. Says why, and
# exits with 3, when the machine can not run the laboratory at all.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sources=${APT_SOURCES:-/etc/apt/sources.list.d/debian.sources}

refuse() { printf 'This machine can not run the laboratory: %s\n' "$1" >&2; exit 3; }

((EUID == 0)) || refuse "it takes root to start an engine, and this is user $EUID"
command -v apt-get >/dev/null || refuse "it takes Debian's packages, and there is no apt-get"
[[ -r $sources ]] || refuse "APT_SOURCES=$sources, from which the images are made, can not be read"
unshare --net --mount --pid --fork true || refuse "the kernel gives it no namespaces of its own"

missing=()
for pair in dockerd:docker.io iptables:iptables ip:iproute2 mmdebstrap:mmdebstrap ssh:openssh-client; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
done
if ((${#missing[@]})); then
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
fi

# Debian 12 has no Compose v2. That one package comes from the release after it, through lists that are used only here, so
# that nothing else of the machine is ever taken from there.
if ! docker compose version >/dev/null 2>&1; then
    apt=$(mktemp -d)
    trap 'rm -rf "$apt"' EXIT
    mkdir -p "$apt"/{sources,preferences,lists/partial}
    cp "$sources" "$apt/sources/"
    awk '$1 == "URIs:" { print "deb", $2, "trixie main"; exit }' "$sources" >"$apt/sources/trixie.list"
    cp "$here/compose.pref" "$apt/preferences/"
    options=(-o "Dir::Etc::SourceParts=$apt/sources" -o "Dir::Etc::SourceList=/dev/null"
        -o "Dir::Etc::PreferencesParts=$apt/preferences" -o "Dir::State::Lists=$apt/lists" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update -qq
    apt-get "${options[@]}" install -qq -y --no-install-recommends docker-compose >/dev/null
fi
printf 'engine %s, Compose %s\n' "$(dockerd --version | awk '{ print $3 }' | tr -d ,)" "$(docker compose version --short)"
