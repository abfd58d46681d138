#!/bin/sh
# Runs a command in a directory as if that were a whole machine: with its own processes, mounts and
# network, which end with it. The command is the namespace's first process, so nothing outlives it.
#
#   bare.sh DIRECTORY COMMAND...
set -e
PATH=$PATH:/usr/sbin:/sbin
if [ "$1" != inside ]; then
  exec unshare --mount --net --pid --fork --kill-child sh "$0" inside "$@"
fi
root=$2
shift 2
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount --rbind /dev dev
ip link set lo up
# runc needs "/" to be a mount, so changing the root is not enough. The old root is hidden in a
# directory that nothing else looks at.
mkdir -p .before
pivot_root . .before
exec "$@"
