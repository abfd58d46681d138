#!/bin/bash
# The checks for a working day: what needs no root and no containers, within three
# minutes on two cores. "make test" runs these and all the others.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
test/lint.sh || status=1
fast=$(test/packages.sh fast | grep -vx nodal/sim) || exit 1
export CGO_ENABLED=0
echo "== unit tests, tables, scripts and 1,000 seeds"
# shellcheck disable=SC2086 # they are words
{
  go test -json -timeout 5m $fast || status=1
  go test -json -timeout 5m -run 'TestSeeds$' ./sim -seeds 1000 || status=1
  exit $status
} | go run ./test/summary -part || status=1
exit $status
