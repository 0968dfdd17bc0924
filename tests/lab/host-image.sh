#!/usr/bin/env bash
# Builds the image of a laboratory host: Debian with systemd, sshd and Python, and neither an engine nor anything of
# Steelyard. Debian 12 has no Compose v2, so the host may take that one package from the release after it.
set -euo pipefail

tag=${1:-steelyard-lab/host}
here=$(cd "$(dirname "$0")" && pwd)
sources=${APT_SOURCES:-/etc/apt/sources.list.d/debian.sources}
mirror=$(awk '$1 == "URIs:" { print $2; exit }' "$sources")

mmdebstrap --variant=minbase --mode=root --format=tar --quiet \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include=usr-is-merged,systemd,systemd-sysv,dbus,openssh-server,python3,python3-apt,iproute2,ca-certificates,procps \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt=force-unsafe-io \
    --customize-hook="copy-in $sources /etc/apt/sources.list.d" \
    --customize-hook='rm -f "$1/etc/apt/sources.list" "$1/etc/apt/sources.list.d/0000main.sources"' \
    --customize-hook="upload $here/compose.pref /etc/apt/preferences.d/compose" \
    --customize-hook="echo 'deb $mirror trixie main' >\"\$1/etc/apt/sources.list.d/trixie.list\"" \
    --customize-hook='chroot "$1" systemctl mask -q apt-daily.timer apt-daily-upgrade.timer' \
    --customize-hook="upload $here/host-init.sh /sbin/host-init" \
    --customize-hook='chmod 0755 "$1/sbin/host-init"; rm -f "$1"/etc/ssh/ssh_host_*' \
    --customize-hook='printf "[Unit]\nBefore=ssh.service\n[Service]\nType=oneshot\nExecStart=/usr/bin/ssh-keygen -A\n[Install]\nWantedBy=multi-user.target\n" >"$1/etc/systemd/system/host-keys.service"' \
    --customize-hook='chroot "$1" systemctl enable -q host-keys.service ssh.service' \
    bookworm - - <"$sources" |
    docker import --change 'CMD ["/sbin/host-init"]' - "$tag"
