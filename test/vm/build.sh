#!/bin/bash
# build.sh DIRECTORY PACKAGE...
#
# Builds what tests of packages take into the machine: nothing is compiled there.
set -euo pipefail
cd "$(dirname "$0")/../.."
into=$1
shift
mkdir -p "$into"
export CGO_ENABLED=0
host/runtime/bundle/build.sh
go build -tags bundle -trimpath -o "$into/kubelet" ./cmd/kubelet
go build -trimpath -ldflags='-s -w' -o "$into/probe" ./test/rig/testimage
go build -modfile=test/tools/go.mod -o "$into/grpcurl" github.com/fullstorydev/grpcurl/cmd/grpcurl
for package in "$@"; do
  go test -c -tags bundle -trimpath -ldflags='-s -w' -o "$into/${package//\//-}.test" "./$package"
done
