#!/bin/bash
# Gets what test/vm/run.sh needs: qemu from Debian, and below .cache/vm a kernel with its modules and
# a first root file system. A second run downloads nothing. It exits with 77 if this host cannot run
# such a machine, and with another code if something is broken.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/sbin:/sbin
kit=$PWD/.cache/vm
mkdir -p "$kit"
exec {alone}>"$kit/lock" && flock "$alone" # machines may start at the same time

cannot() {
  echo "no machine with cgroup v2 here: $1" >&2
  exit 77
}
[ "$(uname -m)" = x86_64 ] || cannot "it is emulated for x86_64 alone, this is $(uname -m)"
command -v apt-get >/dev/null || cannot "this is not Debian"

packages=()
# need PACKAGE FILE...: the package is missing if none of the files is there.
need() {
  local package=$1 file
  shift
  for file in "$@"; do [ ! -e "$file" ] || return 0; done
  packages+=("$package")
}
need qemu-system-x86 /usr/bin/qemu-system-x86_64
need seabios /usr/share/seabios/bios-256k.bin
if [ ! -e /usr/lib/qemu/virtiofsd ]; then need virtiofsd /usr/libexec/virtiofsd; fi
need kmod /sbin/depmod
need cpio /usr/bin/cpio
need systemd /lib/systemd/systemd
need busybox-static /bin/busybox /usr/bin/busybox
if [ ${#packages[@]} != 0 ]; then
  [ "$(id -u)" = 0 ] || cannot "not root: first: apt-get install ${packages[*]}"
  echo "installing from Debian: ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >/dev/null || cannot "Debian cannot be reached"
  # Debian 12 has virtiofsd in qemu-system-common, Debian 13 in its own package.
  apt-cache show virtiofsd >/dev/null 2>&1 || packages=("${packages[@]/virtiofsd/qemu-system-common}")
  apt-get install -q -y --no-install-recommends "${packages[@]}" >/dev/null || cannot "Debian's packages cannot be installed"
fi

# The kernel is unpacked, not installed: this machine does not boot it.
if [ ! -e "$kit/vmlinuz" ]; then
  rm -rf "$kit/kernel" && mkdir -p "$kit/kernel"
  apt-cache show linux-image-cloud-amd64 >/dev/null 2>&1 || apt-get update -q >/dev/null || cannot "Debian cannot be reached"
  image=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ { print $2; exit }')
  (cd "$kit/kernel" && apt-get download -q -o APT::Sandbox::User=root "$image" >/dev/null) || cannot "Debian's kernel cannot be downloaded"
  (cd "$kit/kernel" && dpkg-deb -x ./*.deb . && rm ./*.deb)
  # In Debian 13 /lib is a link, so modules may be in either place.
  [ -d "$kit/kernel/lib/modules" ] || ln -sfn usr/lib "$kit/kernel/lib"
  depmod -b "$kit/kernel" "$(ls "$kit/kernel/lib/modules")"
  cp "$kit"/kernel/boot/vmlinuz-* "$kit/vmlinuz"
fi

# The first root: busybox, and the modules that mount the other root.
first=$(mktemp -d "$kit/first.XXXX")
trap 'rm -rf "$first"' EXIT
mkdir -p "$first/bin" "$first/modules"
cp "$(command -v busybox)" "$first/bin/busybox"
ln -s busybox "$first/bin/sh"
install -m 755 test/vm/guest/init "$first/init"
release=$(ls "$kit/kernel/lib/modules")
for module in virtio_pci virtio_console virtio_rng virtiofs overlay; do
  modprobe -d "$kit/kernel" -S "$release" --show-depends "$module"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
  name=$(basename "${path%.xz}")
  case $path in *.xz) xz -dc "$path" ;; *) cat "$path" ;; esac >"$first/modules/$name"
  echo "$name" >>"$first/modules/order"
done
(cd "$first" && find . | cpio -o -H newc --quiet) | gzip -1 >"$kit/first.new"
mv "$kit/first.new" "$kit/first.cpio.gz"
