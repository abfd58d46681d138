#!/bin/bash
# Builds the runtime that the kubelet brings along and puts it where
# host/runtime/embedded embeds it, or into the directory that is given. GOARCH
# chooses the machine (amd64, arm64). It ends with 3 where tools are missing.
#
# All that decides the bytes goes into a digest: while that stays the same,
# the archive is taken from .cache/bundle.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
cache=$here/../../../.cache/bundle
embedded=${1:-$here/../embedded}

# What the caller has set for other builds would change the bytes of this one.
unset GOEXPERIMENT GOAMD64 GOARM64 CGO_CPPFLAGS CGO_LDFLAGS
export GOTOOLCHAIN=auto GOWORK=off GOFLAGS='-buildvcs=false -trimpath -mod=readonly'
export GOOS=linux CGO_CFLAGS='-O2' LC_ALL=C

host=$(env -u GOARCH go env GOARCH)
arch=${GOARCH:-$host}
case $arch in
  amd64) triplet=x86_64-linux-gnu ;;
  arm64) triplet=aarch64-linux-gnu ;;
  *) echo "bundle: amd64 and arm64 are known, $arch is not" >&2; exit 1 ;;
esac
export GOARCH=$arch CC=gcc
libraries='' # the root of the other machine's: what cross.sh has unpacked, or "/"
if [ "$arch" != "$host" ]; then
  CC=$triplet-gcc
  [ ! -d "$here/../../../.cache/cross/$arch" ] || libraries=$here/../../../.cache/cross/$arch
  export PKG_CONFIG_SYSROOT_DIR=$libraries PKG_CONFIG_LIBDIR=$libraries/usr/lib/$triplet/pkgconfig
fi

missing() {
  echo "bundle: missing for $arch: $1 (Debian: $2)" >&2
  exit 3
}
command -v "$CC" >/dev/null || missing "$CC" "gcc, or gcc-$triplet to cross-compile"
command -v pkg-config >/dev/null || missing pkg-config pkg-config
libc=$("$CC" -print-file-name=libc.a)
[ -f "$libc" ] || missing libc.a "libc6-dev:$arch"
seccomp=$libraries/usr/lib/$triplet/libseccomp.a
[ -f "$seccomp" ] || seccomp=$("$CC" -print-file-name=libseccomp.a)
[ -f "$seccomp" ] || missing libseccomp.a "libseccomp-dev:$arch"

# Everything that can change the result, by content.
digest() {
  {
    find . -type f ! -name '*_test.go' | sort | xargs sha256sum
    sha256sum <"$libc"
    sha256sum <"$seccomp"
    go version
    "$CC" --version
    "$("$CC" -print-prog-name=ld)" --version
    echo "$arch"
  } | sha256sum | cut -c1-32
}

version() { go list -m -f '{{.Version}}' "$1"; }

# alone compiles a program that needs no library.
alone() {
  "$CC" -Os -static -nostdlib -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables \
    -fno-pie -no-pie -s -Wall -Wextra -Werror -Wl,--build-id=none,-z,noseparate-code,-z,noexecstack \
    -o "$1" "$2"
}

build() {
  local out=$1 bundle=$2 containerd=github.com/containerd/containerd/v2 runc=github.com/opencontainers/runc
  local cni=github.com/containernetworking/plugins
  local stamp="-s -w"
  stamp+=" -X $containerd/version.Version=$(version $containerd)"
  stamp+=" -X $cni/pkg/utils/buildversion.BuildVersion=$(version $cni)"

  # no_systemd: it is the agent that tells systemd how things are, not its child.
  # The others leave out code that nothing here reaches.
  local tags=no_systemd,no_rdt,nri_no_wasm,grpcnotrace,urfave_cli_no_docs
  CGO_ENABLED=0 go build -tags $tags -ldflags "$stamp" -o "$out/bin/" ./containerd
  CGO_ENABLED=0 go build -tags $tags,no_grpc -ldflags "$stamp" -o "$out/bin/" ./containerd-shim-runc-v2
  CGO_ENABLED=0 go build -ldflags "$stamp" -o "$out/cni/" $cni/plugins/meta/portmap # loopback is in containerd
  CGO_ENABLED=0 go build -ldflags "$stamp" -o "$out/cni/nodal" ./network
  # runc enters namespaces before Go starts, in C; its seccomp filters are C too.
  # Its build id would depend on where libseccomp lies.
  local flat=$out/flat.o
  # shellcheck disable=SC2046 # they are words
  "$CC" -O2 -Wall -Wextra -Werror $(pkg-config --cflags libseccomp) -c -o "$flat" seccomp/flat.c
  CGO_ENABLED=1 go build -tags $tags,seccomp,netgo,osusergo -o "$out/bin/" \
    -ldflags "$stamp -buildid= -extldflags '-static -Wl,--wrap=seccomp_attr_set $flat'" $runc
  rm "$flat"
  alone "$bundle/pause" pause/pause.c
  alone "$out/bin/hold" hold/hold.c

  # Everything above is for GOARCH; pack runs here and now.
  GOARCH=$host CC=gcc CGO_ENABLED=1 go run ./pack "$out" "$bundle" "arch=$arch" "go=$(go env GOVERSION)" \
    "containerd=$(version $containerd)" "runc=$(version $runc)" "cni=$(version $cni)" \
    "pause=$(sha256sum <pause/pause.c | cut -c1-12)"
}

# put lays a file down whole: a compiler may be reading the old one.
put() {
  cmp -s "$1" "$2" && return
  cp "$1" "$2.new"
  mv "$2.new" "$2"
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # two builds of the same thing take longer than one after the other
kept=$cache/$(digest)
if [ ! -d "$kept" ]; then
  echo "building the container runtime for $arch, once (some minutes)"
  work=$(mktemp -d "$cache/building.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/programs/bin" "$work/programs/cni" "$work/bundle"
  build "$work/programs" "$work/bundle"
  mv "$work/bundle" "$kept"
fi
put "$kept/bundle.tar.zst" "$embedded/bundle.tar.zst"
put "$kept/bundle.json" "$embedded/bundle.json"
put "$kept/pause" "$embedded/pause"
