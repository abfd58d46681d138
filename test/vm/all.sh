#!/bin/bash
# Runs every test for which cgroup v2 matters, with either cgroup driver, and the tests that need
# systemd.
set -uo pipefail
cd "$(dirname "$0")/../.."
status=0
packages="test/conformance test/e2e test/noderuntime host/cgroup"
# shellcheck disable=SC2086 # they are words
test/phase.sh "cgroup v2, made by the runtime" test/vm/tests.sh $packages test/dist:TestOneFile || status=1
# shellcheck disable=SC2086
test/phase.sh "cgroup v2, made by systemd" test/vm/tests.sh --systemd $packages test/dist:TestSystemd || status=1
exit $status
