#!/bin/bash
# All that can tell cgroup v2 from v1, with either driver of cgroups, and what
# wants a systemd.
set -uo pipefail
cd "$(dirname "$0")/../.."
status=0
packages="test/conformance test/e2e test/noderuntime host/cgroup"
# shellcheck disable=SC2086 # they are words
test/phase.sh "cgroup v2, made by the runtime" test/vm/tests.sh $packages test/dist:TestOneFile || status=1
# shellcheck disable=SC2086
test/phase.sh "cgroup v2, made by systemd" test/vm/tests.sh --systemd $packages test/dist:TestSystemd || status=1
exit $status
