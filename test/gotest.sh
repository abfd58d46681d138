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
  # shellcheck disable=SC2086
  go test -json -race -timeout 15m -p 1 $real
} | go run ./test/summary
