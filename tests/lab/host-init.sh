#!/bin/sh
# First process of a laboratory host: gives systemd a control group tree of its own, in its own namespace, and starts it.
# The engine's mount is read-only; the machine's tree is never mounted here, since systemd would clear it.
set -e
umount -R /sys/fs/cgroup 2>/dev/null || umount -l /sys/fs/cgroup
controllers=$(awk '!/^#/ && $2 != 0 && $4 == 1 { print $1 }' /proc/cgroups)
if [ -n "$controllers" ]; then
    mount -t tmpfs -o mode=755,nosuid,nodev,noexec tmpfs /sys/fs/cgroup
    for controller in $controllers; do
        mkdir "/sys/fs/cgroup/$controller"
        mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller"
    done
    mkdir /sys/fs/cgroup/systemd
    mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
else
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
fi
mount --make-rshared /
exec /sbin/init
