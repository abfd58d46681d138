#!/bin/bash
# Makes a machine and runs it until it is killed: boot.sh STAGE NAME GROUP DIR DISK [PROGRAM=PATH...]
# It prints the ID of the machine's first process once the machine is there.
set -euo pipefail
stage=$1 name=$2 group=$3 dir=$4 disk=$5
shift

# cgroup_mounts prints the mount points of all hierarchies.
cgroup_mounts() {
    while read -r _ point type _; do
        if [[ $type == cgroup?(2) && $point == /sys/fs/cgroup* ]]; then echo "$point"; fi
    done </proc/self/mounts
}

# delegate lets the children of a cgroup of version 2 have all controllers. Where a controller cannot be had, pods get
# none either.
delegate() {
    local controller
    for controller in $(<"$1/cgroup.controllers"); do echo "+$controller" 2>/dev/null >"$1/cgroup.subtree_control" || true; done
}

# join makes the machine's cgroup in each hierarchy, and moves this process there.
join() {
    local point file
    for point in $(cgroup_mounts); do
        if [[ -e $point/cgroup.controllers ]]; then delegate "$point"; fi
        mkdir -p "$point/$group"
        for file in cpuset.cpus cpuset.mems; do # of version 1, where they start empty and let no process in
            if [[ -e $point/$file ]]; then cat "$point/$file" >"$point/$group/$file"; fi
        done
        echo $$ >"$point/$group/cgroup.procs"
    done
}

# settle moves this process below the machine's cgroup, which is the root of the machine's hierarchies now. In version 2
# a cgroup with processes gives its children no controllers.
settle() {
    local point
    for point in $(cgroup_mounts); do
        if [[ ! -e $point/$group/cgroup.subtree_control ]]; then continue; fi
        mkdir -p "$point/$group/init"
        echo $$ >"$point/$group/init/cgroup.procs"
        delegate "$point/$group"
    done
}

# files makes the machine's files in ./root: those of this machine with changes in memory.
files() {
    mkdir changed work root
    mount -t overlay -o "lowerdir=/,upperdir=$PWD/changed,workdir=$PWD/work" overlay root
    mkdir -p root/old "root/var/lib/kubelet"
    mount --bind "$disk" root/var/lib/kubelet
    mount --rbind /dev root/dev
    mount -t sysfs sysfs root/sys
    mount -t tmpfs -o mode=755 run root/run
    mount -t tmpfs -o mode=1777 tmp root/tmp
    local point program
    if [[ ! -e /sys/fs/cgroup/cgroup.controllers ]]; then mount -t tmpfs -o mode=755 cgroup root/sys/fs/cgroup; fi
    for point in $(cgroup_mounts); do
        mkdir -p "root$point"
        mount --bind "$point/$group" "root$point"
    done
    for program; do
        : >"root/usr/bin/${program%%=*}"
        mount --bind "${program#*=}" "root/usr/bin/${program%%=*}"
    done
    mount -t proc proc root/proc # last: the mounts above are read from this machine's
}

case $stage in
cgroup)
    join
    exec unshare --cgroup -- "$BASH" "$0" namespaces "$@"
    ;;
namespaces)
    settle
    exec unshare --mount --propagation private --net --uts --ipc --pid --fork --kill-child -- "$BASH" "$0" init "$@"
    ;;
init)
    shift 4
    read -r pid _ </proc/self/stat # outside of the machine; inside it is 1
    echo "$name" >/proc/sys/kernel/hostname
    mount -t tmpfs -o mode=755 machine "$dir"
    cd "$dir"
    files "$@"
    cd root
    pivot_root . old
    umount --lazy /old
    rmdir /old
    mount --make-rshared /
    echo 1 >/proc/sys/net/ipv4/ip_forward
    ip link set lo up
    echo "$pid"
    exec >&-
    sleep infinity &
    wait # and reap orphans
    ;;
esac
