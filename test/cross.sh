#!/bin/bash
# Gets from Debian what `make dist` needs to build for the other architecture, and to try the
# result: a C compiler, qemu, and the other architecture's libseccomp. That library is unpacked
# below .cache/cross and not installed, which would turn this machine into one of two architectures.
# A second run downloads nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
case $(uname -m) in
  x86_64) arch=arm64 machine=aarch64 compiler=aarch64-linux-gnu ;;
  aarch64) arch=amd64 machine=x86_64 compiler=x86-64-linux-gnu ;;
  *) echo "cross: amd64 and arm64 are known, $(uname -m) is not" >&2; exit 1 ;;
esac
export DEBIAN_FRONTEND=noninteractive

packages=()
command -v "$machine-linux-gnu-gcc" >/dev/null || packages+=("gcc-$compiler")
[ -e "/usr/$machine-linux-gnu/lib/libc.a" ] || packages+=("libc6-dev-$arch-cross")
command -v "qemu-$machine-static" >/dev/null || packages+=(qemu-user-static)
if [ ${#packages[@]} != 0 ]; then
  [ "$(id -u)" = 0 ] || { echo "cross: not root: first: apt-get install ${packages[*]}" >&2; exit 1; }
  echo "installing from Debian: ${packages[*]}"
  apt-get update -q >/dev/null
  apt-get install -q -y --no-install-recommends "${packages[@]}" >/dev/null
fi

root=$PWD/.cache/cross/$arch
[ ! -d "$root" ] || exit 0
mkdir -p .cache/cross
work=$(mktemp -d "$PWD/.cache/cross/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"
: >"$work/status"
# This apt has its own state, in which the other architecture is the native one.
export APT_CONFIG=$work/apt.conf
cat >"$APT_CONFIG" <<CONFIG
APT { Architecture "$arch"; Architectures { "$arch"; }; Sandbox::User "root"; };
Dir { State "$work"; State::status "$work/status"; Cache "$work"; };
CONFIG
apt-get update -q >/dev/null
(cd "$work" && apt-get download -q libseccomp-dev >/dev/null)
dpkg-deb -x "$work"/libseccomp-dev_*.deb "$work/root"
mv "$work/root" "$root"
