#!/bin/bash
# Builds the release: for each architecture a static kubelet with its container runtime inside, the
# systemd unit, the licences of what is in it, and their checksums.
#
#   dist.sh DIRECTORY VERSION [ARCHITECTURE...]
#
# The same sources, Go and C toolchain give the same bytes, in whatever directory the tree lies. The
# old content of DIRECTORY is replaced only after everything is built.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1 version=$2
shift 2
[ $# -gt 0 ] || set -- amd64 arm64

# The caller's settings for other builds would change the bytes of this one.
unset GOEXPERIMENT GOAMD64 GOARM64
export LC_ALL=C GOTOOLCHAIN=auto GOWORK=off GOFLAGS='-buildvcs=false -trimpath -mod=readonly' GOOS=linux CGO_ENABLED=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/dist"

# overlay makes the compiler embed the bundle of another directory. The tree's own belongs to builds
# for this machine.
overlay() {
  local embedded=$PWD/host/runtime/embedded sep='' name
  printf '{"Replace":{'
  for name in bundle.tar.zst bundle.json pause; do
    printf '%s"%s":"%s"' "$sep" "$embedded/$name" "$1/$name"
    sep=,
  done
  printf '%s"%s":"%s"}}\n' "$sep" "$PWD/documents.tar.zst" "$work/documents.tar.zst"
}

GOARCH=$(go env GOHOSTARCH) go run ./test/pack "$work/documents.tar.zst"
for arch; do
  bundle=$work/bundle-$arch
  mkdir "$bundle"
  status=0
  GOARCH=$arch host/runtime/bundle/build.sh "$bundle" || status=$?
  if [ "$status" = 3 ] && [ "$arch" != "$(go env GOHOSTARCH)" ]; then
    echo "dist: no binary for $arch (make setup-dist gets what is missing)"
    continue
  fi
  [ "$status" = 0 ] || exit "$status"
  overlay "$bundle" >"$work/overlay-$arch.json"
  GOARCH=$arch go build -tags bundle,grpcnotrace,packed -gcflags=k8s.io/api/...=-l -overlay "$work/overlay-$arch.json" \
    -ldflags "-s -w -X main.version=$version" -o "$work/dist/kubelet-linux-$arch" ./cmd/kubelet
done
install -m 644 host/service/kubelet.service "$work/dist/"
gzip -dc cmd/kubelet/command/licenses/licenses.txt.gz >"$work/dist/LICENSES.txt"
(cd "$work/dist" && sha256sum -- * >SHA256SUMS)
mkdir -p "$out"
rm -f "$out"/kubelet-linux-* "$out/kubelet.service" "$out/LICENSES.txt" "$out/SHA256SUMS"
cp -p "$work"/dist/* "$out/"
ls -l "$out"
