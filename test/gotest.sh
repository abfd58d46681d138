#!/bin/bash
# Runs the tests of packages, fast ones first, and sums up.
# Real packages run one by one, and within one some tests side by side: more would
# wait for processors, fewer for pods.
set -uo pipefail
cd "$(dirname "$0")/.."
fast=$(test/packages.sh fast) && real=$(test/packages.sh real) || exit 1
failed=0
export CGO_ENABLED=1 # for the race detector; what we ship is built without
{
  # shellcheck disable=SC2086
  go test -json -race -timeout 20m $fast || failed=1
  # The race detector makes the simulation ten times slower: all its seeds are
  # played without.
  CGO_ENABLED=0 go test -json -timeout 20m ./sim || failed=1
  # shellcheck disable=SC2086
  go test -json -race -timeout 30m -p 1 -parallel 3 $real || failed=1
  # Once more on the runtime that the kubelet brings along. The race detector has
  # seen these tests by now, and makes each rig unpack for seconds.
  go test -json -tags bundle ./host/runtime/embedded || failed=1
  CGO_ENABLED=0 NODAL_RIG_BUNDLE=$PWD/host/runtime/embedded go test -json -timeout 30m -p 1 -parallel 3 ./test/conformance ./test/noderuntime ./test/e2e || failed=1
  exit $failed # a run that could not begin has no test that failed
} | go run ./test/summary
