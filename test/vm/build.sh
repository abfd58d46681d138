#!/bin/bash
# build.sh DIRECTORY PACKAGE...
#
# Builds the test programs of packages for the machine, where nothing is compiled.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1"
into=$(realpath "$1")
shift
export CGO_ENABLED=0
host/runtime/bundle/build.sh
go build -tags bundle,grpcnotrace -trimpath -o "$into/kubelet" ./cmd/kubelet
go build -trimpath -ldflags='-s -w' -o "$into/probe" ./test/rig/testimage
go build -modfile=test/tools/go.mod -o "$into/grpcurl" github.com/fullstorydev/grpcurl/cmd/grpcurl
go build -o "$into/summary" ./test/summary
(cd test/registry && go build -trimpath -o "$into/registry" .)
for package in "$@"; do
  [ "$package" != test/dist ] || test/dist.sh "$into/dist" vm "$(go env GOARCH)"
  go test -c -tags bundle,grpcnotrace -trimpath -ldflags='-s -w' -o "$into/${package//\//-}.test" "./$package"
done
