#!/bin/bash
# smoke.sh [all] runs the tests on cgroup v2 of every test run: pods start, are confined, measured, stopped and found
# again. Other programs are held to their reservation (host/cgroup). It takes a few minutes.
set -uo pipefail
cd "$(dirname "$0")/../.."
conformance='TestContainerd/(a_sandbox_is_ready|stopping_a_sandbox|a_container_is_created|removing_a_running|a_program_that|stopping_kills|exec_)'
e2e='Test(PodThatEndsIsDoneForGood|ContainersAreConfined|AgentStartsWithoutARuntimeAndWaitsForIt)$'
status=0
packages=("test/e2e:$e2e")
[ "${1:-}" != all ] || packages+=("test/conformance:$conformance")
test/vm/tests.sh --timeout 600 --together "${packages[@]}" --systemd host/cgroup || status=$?
if [ $status = 77 ]; then
  echo "SKIPPED: nothing was run on cgroup v2"
  exit 0
fi
exit $status
