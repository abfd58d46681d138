#!/bin/bash
# Runs every test for which cgroup v2 matters, and the tests that need systemd. All run with cgroups
# that the runtime makes; those whose subject is a cgroup run once more with cgroups that systemd makes.
# PART=2/6 runs a sixth of each package's tests.
set -uo pipefail
cd "$(dirname "$0")/../.."
status=0 part=${PART:-1/1}
limits='PodsOfEachClass|APodIsHeld|PodsDoNotGetReserved|LimitsOf|GuaranteedContainers|CPUsAndMemory|ResourcesChange|PodsGetHugePages'
limits+='|TheKernelKeepsTheMemory|StatsAre|ContainersSwap|OutOfMemory|RuntimeClasses|ContainersAreConfined|PodsWithTheirOwnUser'
lives='DeletionLeavesNothing|DeletionGoesOn|KilledAgent|KilledRuntime|KilledContainer|PodsOfAnotherKubelet|APodWithATask'
slow='TakesNoMemory$' # floods of requests, which no cgroup changes and for which the emulator is too slow
test/phase.sh "cgroup v2, made by the runtime" \
  test/vm/tests.sh --part "$part" --skip "$slow" host/cgroup test/conformance test/noderuntime test/dist:TestOneFile test/e2e || status=1
test/phase.sh "cgroup v2, made by systemd" \
  test/vm/tests.sh --part "$part" --systemd host/cgroup test/conformance test/dist:TestSystemd \
  test/noderuntime:TestPodsOutlive "test/e2e:Test($limits|$lives)" || status=1
exit $status
