#!/usr/bin/env bash
# sandbox.sh FOLDER COMMAND...: runs a command beside an engine of its own, in namespaces of its own for network, mounts and
# processes. Another engine of the machine is neither seen nor disturbed, and when the command ends, so do the engine, its
# containers, their networks and mounts, however it ended. The engine's data is in FOLDER/engine, the command may leave
# what it needs in FOLDER/work, and both are deleted.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift

if [[ ${SANDBOX_INSIDE-} != "$folder" ]]; then
    name=lab$$
    net=10.213.$(($$ % 250))
    leave() {
        ip netns delete "$name" 2>/dev/null || true
        iptables -w -t nat -D POSTROUTING -s "$net.0/30" -j MASQUERADE 2>/dev/null || true
        iptables -w -D FORWARD -i "$name" -j ACCEPT 2>/dev/null || true
        iptables -w -D FORWARD -o "$name" -j ACCEPT 2>/dev/null || true
        rm -rf "$folder"/{engine,run,work}
        find /sys/fs/cgroup -depth -type d -path "*/$name/*" -exec rmdir {} + 2>/dev/null || true
        find /sys/fs/cgroup -maxdepth 2 -type d -name "$name" -exec rmdir {} + 2>/dev/null || true
    }
    trap leave EXIT
    trap 'exit 130' INT TERM
    rm -rf "$folder"/{engine,run,work}
    sysctl -qw net.ipv4.ip_forward=1
    ip netns add "$name"
    ip link add "$name" type veth peer name uplink netns "$name"
    ip address add "$net.1/30" dev "$name"
    ip link set "$name" up
    ip -n "$name" address add "$net.2/30" dev uplink
    ip -n "$name" link set uplink up
    ip -n "$name" link set lo up
    ip -n "$name" route add default via "$net.1"
    iptables -w -t nat -I POSTROUTING -s "$net.0/30" -j MASQUERADE
    iptables -w -I FORWARD -i "$name" -j ACCEPT
    iptables -w -I FORWARD -o "$name" -j ACCEPT
    # The first process of the namespace is this script again; when it ends, the kernel ends all the others.
    SANDBOX_INSIDE=$folder SANDBOX_NAME=$name nsenter --net="/run/netns/$name" \
        unshare --mount --pid --fork --kill-child --mount-proc "$0" "$folder" "$@"
    exit
fi

export DOCKER_HOST=unix://$folder/run/docker.sock
mkdir -p "$folder"/{engine,run,work} /run/containerd
mount -t tmpfs tmpfs /run/containerd
sysctl -qw net.ipv4.ip_forward=1
dockerd --host "$DOCKER_HOST" --cgroup-parent "/$SANDBOX_NAME" --data-root "$folder/engine" --exec-root "$folder/run/exec" --pidfile "$folder/run/dockerd.pid" \
    >"$folder/engine.log" 2>&1 </dev/null &
engine=$!
until docker info >/dev/null 2>&1; do
    kill -0 "$engine" 2>/dev/null || { tail -n 20 "$folder/engine.log" >&2; exit 1; }
    sleep 0.2
done
"$@"
