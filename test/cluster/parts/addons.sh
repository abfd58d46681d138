#!/bin/bash
# Builds the addons of kubeadm's clusters: kube-proxy in the version of parts/go.mod, and CoreDNS in that of coredns/go.mod,
# with the plugins that kubeadm's configuration of it names. Without changes nothing is built.
set -euo pipefail
cd "$(dirname "$0")"
out=$PWD/../../../.cache/parts
stamp=$(cat go.mod go.sum coredns/* addons.sh | sha256sum)
if [[ -f $out/addons-stamp && $(<"$out/addons-stamp") == "$stamp" ]]; then exit 0; fi
mkdir -p "$out"
# A module of its own scope, as in peer.sh.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp go.mod go.sum "$scratch"
CGO_ENABLED=0 go build -modfile "$scratch/go.mod" -mod=mod -trimpath -ldflags "-s -w" -o "$out/kube-proxy" k8s.io/kubernetes/cmd/kube-proxy
cp coredns/go.mod coredns/go.sum "$scratch"
{
    echo 'package main'
    echo 'import "github.com/coredns/coredns/coremain"'
    for plugin in cache errors forward health kubernetes loadbalance loop metrics ready reload; do
        echo "import _ \"github.com/coredns/coredns/plugin/$plugin\""
    done
    echo 'func main() { coremain.Run() }'
} >"$scratch/main.go"
(cd "$scratch" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$out/coredns" .)
echo "$stamp" >"$out/addons-stamp"
