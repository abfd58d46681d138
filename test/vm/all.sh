#!/bin/bash
# All that can tell cgroup v2 from v1, with either driver of cgroups.
set -uo pipefail
cd "$(dirname "$0")/../.."
status=0
test/phase.sh "cgroup v2, made by the runtime" test/vm/tests.sh conformance e2e || status=1
test/phase.sh "cgroup v2, made by systemd" test/vm/tests.sh --systemd conformance e2e || status=1
exit $status
