#!/usr/bin/env bash
# Builds a stand-in for the hub's python:3.11-slim-bookworm from Debian packages and gives it the same tag, for machines
# that reach a Debian mirror but no image registry. Takes the mirror from this machine's own apt sources, and brings this
# machine's additional certificate authorities along, so that pip works in a build behind a proxy that re-signs TLS.
set -euo pipefail

tag=${1:-python:3.11-slim-bookworm}
sources=${APT_SOURCES:-/etc/apt/sources.list.d/debian.sources}
authorities=/usr/local/share/ca-certificates

for tool in mmdebstrap docker; do
    command -v "$tool" >/dev/null || { echo "local-base.sh needs $tool" >&2; exit 1; }
done
[[ -r $sources ]] || { echo "APT_SOURCES=$sources can not be read" >&2; exit 1; }

hooks=()
shopt -s nullglob
for certificate in "$authorities"/*.crt; do
    hooks+=("--customize-hook=copy-in $certificate $authorities")
done

# A merged /usr from the start (usr-is-merged) spares usrmerge, which would bring 50 MB of Perl.
# Nothing here has to outlive a power cut, so dpkg need not wait for the disk after each file.
# python3 -m venv /usr/local gives the official image's paths: /usr/local/bin/python and pip.
mmdebstrap --variant=minbase --mode=root --format=tar --quiet \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include=usr-is-merged,python3,python3-venv,ca-certificates \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt=force-unsafe-io \
    "${hooks[@]}" \
    --customize-hook='chroot "$1" update-ca-certificates' \
    --customize-hook='chroot "$1" python3 -m venv /usr/local' \
    bookworm - - <"$sources" |
    docker import \
        --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
        --change 'ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt' \
        --change 'ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt' \
        --change 'CMD ["python3"]' \
        - "$tag"
