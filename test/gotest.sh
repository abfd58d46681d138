#!/bin/bash
# Runs the tests of packages, fast ones first, and sums up.
# A rig's pods want the machine to themselves: real packages run one by one.
set -uo pipefail
cd "$(dirname "$0")/.."
fast=$(test/packages.sh fast) && real=$(test/packages.sh real) || exit 1
export CGO_ENABLED=1 # for the race detector; what we ship is built without
{
  # shellcheck disable=SC2086
  go test -json -race -timeout 10m $fast
  # The race detector makes the simulation ten times slower: all its seeds are
  # played without.
  CGO_ENABLED=0 go test -json -timeout 10m ./sim
  # shellcheck disable=SC2086
  go test -json -race -timeout 15m -p 1 $real
  # Once more on the runtime that the kubelet brings along.
  go test -json -tags bundle ./host/runtime/embedded
  NODAL_RIG_BUNDLE=$PWD/host/runtime/embedded go test -json -race -timeout 15m -p 1 ./test/conformance ./test/e2e
} | go run ./test/summary
