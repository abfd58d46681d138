#!/bin/bash
# Runs the tests of packages, fast ones first, and sums up.
# Real packages run one by one, and within one some tests side by side: more would
# wait for processors, fewer for pods.
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
  go test -json -race -timeout 15m -p 1 -parallel 3 $real
  # Once more on the runtime that the kubelet brings along. The race detector has
  # seen these tests by now, and makes each rig unpack for seconds.
  go test -json -tags bundle ./host/runtime/embedded
  CGO_ENABLED=0 NODAL_RIG_BUNDLE=$PWD/host/runtime/embedded go test -json -timeout 15m -p 1 -parallel 3 ./test/conformance ./test/e2e
} | go run ./test/summary
