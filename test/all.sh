#!/bin/bash
# all.sh [all] runs the checks, the fast ones first. Without "all", those of test/whole.txt are left out, and less is fuzzed.
# A failed lint ends the run. Failed tests do not: the check for leaks still runs after them.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache
export NODAL_REQUIRE_ROOT=1 NODAL_PACE=3 # a disk that stalls for seconds is no fault of ours
NODAL_TEST_RUN=run-$$-$(date +%s)
export NODAL_TEST_RUN
export NODAL_PROBE=$PWD/.cache/probe NODAL_KUBELET=$PWD/.cache/kubelet

test/lint.sh || exit 1
test/phase.sh "build the dashboard" web/build.sh || exit 1
test/phase.sh "the dashboard's unit tests" web/build.sh test || exit 1
test/phase.sh "build the container runtime" host/runtime/bundle/build.sh || exit 1
test/phase.sh "build a control plane to join" test/cluster/parts/build.sh || exit 1
test/phase.sh "build upstream's kubelet to swap with" test/cluster/parts/peer.sh || exit 1
if [ "${1:-}" = all ]; then test/phase.sh "build the addons of kubeadm" test/cluster/parts/addons.sh || exit 1; fi
test/phase.sh "build the leak check" go build -o .cache/leaks ./test/rig/leaks || exit 1
test/phase.sh "build the test images' program" \
  env CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$NODAL_PROBE" ./test/rig/testimage || exit 1
test/phase.sh "build the kubelet" env CGO_ENABLED=0 go build -tags bundle,grpcnotrace -trimpath -o "$NODAL_KUBELET" ./cmd/kubelet || exit 1
.cache/leaks save .cache/before.json || exit 1
test/phase.sh tests test/gotest.sh "${1:-}" | tee .cache/tests.log
status=$?
# Known inputs are run as plain tests above. A few seconds each would find a fault that is near to them.
[ "${1:-}" = all ] && fuzz=5 || fuzz=1
test/phase.sh "fuzz, for a moment" test/fuzz.sh each $fuzz | tee -a .cache/tests.log || status=1
test/phase.sh "the same on cgroup v2, in small" test/vm/smoke.sh "${1:-}" | tee -a .cache/tests.log || status=1
test/phase.sh "nothing left behind" .cache/leaks check .cache/before.json || status=1
# Print the failures, and the count as the last line, where a reader looks for it.
awk '/^(failed: |no test that passed showed )/ { on = 1 } !/^(failed: |no test that passed showed |        )/ { on = 0 } on' .cache/tests.log
grep '^== .*: FAILED in ' .cache/tests.log
awk '/^[0-9]+ passed, / { passed += $1; failed += $3; skipped += $5 }
  END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' .cache/tests.log
exit $status
