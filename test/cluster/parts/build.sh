#!/bin/bash
# Builds the cluster that tests join: etcd, and a single program from main.go with all others.
# Sources come from the Go module proxy, in the versions of parts/go.mod. The first build takes
# minutes; without changes nothing is built.
set -euo pipefail
cd "$(dirname "$0")"
out=../../../.cache/parts
stamp=$(cat go.mod go.sum main.go build.sh | sha256sum)
if [[ -f $out/stamp && $(<"$out/stamp") == "$stamp" ]]; then exit 0; fi
mkdir -p "$out"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
stamped="-X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$out/etcd" go.etcd.io/etcd/server/v3
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w $stamped" -o "$out/kubernetes" .
for name in kube-apiserver kube-controller-manager kube-scheduler kubectl metrics-server; do ln -sfn kubernetes "$out/$name"; done
install -m 644 "$(go list -m -f '{{.Dir}}' sigs.k8s.io/metrics-server)/manifests/base/rbac.yaml" "$out/metrics-server.yaml"
echo "$stamp" >"$out/stamp"
