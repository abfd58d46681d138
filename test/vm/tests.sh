#!/bin/bash
# tests.sh [--systemd] [--timeout SECONDS] PACKAGE[:TESTS]...
#
# Runs tests of packages, such as test/e2e, on cgroup v2 and on the runtime that
# the kubelet brings along: each package in a machine of its own, and all of its
# tests or those that the expression chooses. With --systemd it is systemd that
# makes the cgroups.
set -uo pipefail
cd "$(dirname "$0")/../.."
first=() timeout=3600
while [ $# -gt 0 ]; do
  case $1 in
    --systemd) first=(--systemd); export NODAL_CGROUP_DRIVER=systemd ;;
    --timeout) timeout=$2; shift ;;
    *) break ;;
  esac
  shift
done
test/vm/setup.sh || exit
built=$PWD/.cache/vm/tests
test/vm/build.sh "$built" "${@%%:*}" || exit 1

# A limit is a failure, whatever the machine; this one is slow.
export NODAL_REQUIRE_ROOT=1 NODAL_PACE=10
export NODAL_KUBELET=$built/kubelet NODAL_PROBE=$built/probe NODAL_GRPCURL=$built/grpcurl NODAL_REGISTRY=$built/registry
export NODAL_RIG_BUNDLE=$PWD/host/runtime/embedded NODAL_DIST=$built/dist NODAL_DIST_VERSION=vm

# run PACKAGE TESTS: tests find their files beside their source.
run() {
  test/vm/run.sh "${first[@]}" --timeout "$timeout" \
    "cd $1 && $built/${1//\//-}.test -test.v=test2json -test.timeout=${timeout}s -test.run='$2'" |
    go tool test2json -t -p "nodal/$1 (cgroup v2, ${NODAL_CGROUP_DRIVER:-cgroupfs})"
}
status=0
for tests in "$@"; do
  case $tests in
    *:*) run "${tests%%:*}" "${tests#*:}" ;;
    *) run "$tests" . ;;
  esac || status=1
done > >(go run ./test/summary -part) # ends with us: it reads what we write
wait $! || status=1
exit $status
