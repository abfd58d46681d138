#!/bin/sh
# Runs a command in a directory as if that were all that a machine has: with
# processes, mounts and a network of its own, which end with it. The command is
# the namespace's first process, so nothing outlives it.
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
# runc wants "/" to be a mount, so changing the root is not enough. What was
# there before is out of sight for who looks for no directory of that name.
mkdir -p .before
pivot_root . .before
exec "$@"
