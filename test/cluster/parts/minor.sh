#!/bin/bash
# Builds the control plane, kubectl, kubeadm and kube-proxy of another minor version, as other scripts here do: minor.sh
# 1.35. The versions are those of 1.35.mod. metrics-server is left out, as its module fits one version only.
set -euo pipefail
cd "$(dirname "$0")"
minor=$1
out=$PWD/../../../.cache/parts/$minor
stamp=$(cat "$minor.mod" "$minor.sum" main.go minor.sh | sha256sum)
if [[ -f $out/stamp && $(<"$out/stamp") == "$stamp" ]]; then exit 0; fi
mkdir -p "$out"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$minor.mod" "$scratch/go.mod"
cp "$minor.sum" "$scratch/go.sum"
grep -v -e metrics -e k8s.io/apiserver/pkg/server main.go >"$scratch/main.go"
cd "$scratch"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
stamped="-X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${minor#1.}"
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w $stamped" -o "$out/kubernetes" .
for name in kube-apiserver kube-controller-manager kube-scheduler kubectl; do ln -sfn kubernetes "$out/$name"; done
# Last, as they add sums to go.sum.
for name in kubeadm kube-proxy; do
    CGO_ENABLED=0 go build -mod=mod -trimpath -ldflags "-s -w $stamped" -o "$out/$name" "k8s.io/kubernetes/cmd/$name"
done
for name in etcd coredns; do ln -sfn "../$name" "$out/$name"; done
echo "$stamp" >"$out/stamp"
