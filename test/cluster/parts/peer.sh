#!/bin/bash
# Builds upstream's kubelet for the tests that swap it with this one, and kubeadm for those that have it look at this one,
# in the version of parts/go.mod. The first build takes minutes and leaves 140 MB; without changes nothing is built.
set -euo pipefail
cd "$(dirname "$0")"
out=../../../.cache/parts
stamp=$(cat go.mod go.sum peer.sh | sha256sum)
if [[ -f $out/peer-stamp && $(<"$out/peer-stamp") == "$stamp" ]]; then exit 0; fi
mkdir -p "$out"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
stamped="-X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
# A module of its own scope: the sums of what only these need stay out of go.sum.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp go.mod go.sum "$scratch"
for name in kubelet kubeadm; do
    CGO_ENABLED=0 go build -modfile "$scratch/go.mod" -mod=mod -trimpath -ldflags "-s -w $stamped" -o "$out/$name" "k8s.io/kubernetes/cmd/$name"
done
echo "$stamp" >"$out/peer-stamp"
