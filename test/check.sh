#!/bin/bash
# Checks that need no root and no containers, within three minutes on two cores. "make test" runs
# them too.
set -uo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 # for vet too, or every package would be compiled twice
status=0
test/lint.sh || status=1
test/phase.sh "unit tests, tables, scripts and 1,000 seeds" test/checks.sh units || status=1
exit $status
