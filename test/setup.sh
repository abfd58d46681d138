#!/bin/bash
# Installs what the example needs from Debian; with the argument "tests" also what the tests need.
# It installs only what is missing. Without root it prints what to install. The example needs no
# containerd: the kubelet brings its own.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

packages=()
names=()
# need PACKAGE NAME CHECK...: the package is missing if the check fails.
need() {
  local package=$1 name=$2
  shift 2
  if ! "$@" >/dev/null 2>&1; then
    packages+=("$package")
    names+=("$name")
  fi
}
# A busybox that is linked with libc does not run in an image of its own.
static_busybox() { command -v busybox && ! ldd "$(command -v busybox)"; }
# The version of Debian 12, or newer.
new_node() { (($(node -p 'process.versions.node.split(".")[0]') >= 18)); }

need busybox-static "a static busybox" static_busybox
need gcc "gcc (for the race detector and the bundle)" command -v gcc
need libc6-dev "the C library's headers" test -e /usr/include/stdio.h
need pkg-config pkg-config command -v pkg-config
need libseccomp-dev "libseccomp (for the runc of the bundle)" pkg-config --exists libseccomp
need nodejs "node 18 or newer (for the dashboard)" new_node
need npm "npm (for the dashboard)" command -v npm
need ca-certificates "CA certificates" test -e /etc/ssl/certs/ca-certificates.crt
if [ "${1-}" = tests ]; then
  need containerd containerd command -v containerd
  need runc runc command -v runc
  need containernetworking-plugins /usr/lib/cni/bridge test -x /usr/lib/cni/bridge
  need iptables iptables command -v iptables
  need iproute2 ip command -v ip
  need curl curl command -v curl
  need git git command -v git
  need chromium chromium command -v chromium
fi

missing=$(printf '%s, ' "${names[@]}")
missing=${missing%, }
if ! command -v go >/dev/null; then
  echo "missing: go 1.21 or newer. Install it from https://go.dev/dl (Debian's may be older)." >&2
  exit 1
fi
version=$(cd / && go env GOVERSION)
if [ "$(printf '%s\n' 1.21 "${version#go}" | sort -V | head -n 1)" != 1.21 ]; then
  echo "too old: $version. Install go 1.21 or newer from https://go.dev/dl." >&2
  exit 1
fi
if [ ${#packages[@]} = 0 ]; then
  [ "$(id -u)" = 0 ] || { echo "not root: real containers need root." >&2; exit 1; }
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "missing: $missing. This is not Debian: install them by hand." >&2
  exit 1
fi
if [ "$(id -u)" != 0 ]; then
  echo "missing: $missing. Not root: run as root, or first: apt-get install ${packages[*]}" >&2
  exit 1
fi
echo "installing from Debian: ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
apt-get install -q -y --no-install-recommends "${packages[@]}" >/dev/null
