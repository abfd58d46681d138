#!/bin/bash
# Runs every test on the kubelet's own runtime, on this machine; then, in an emulated machine, all for which cgroup v2
# matters, and those that need systemd. There, all run with cgroups that the runtime makes; those whose subject is a
# cgroup run once more with cgroups that systemd makes. PART=2/6 runs a sixth of each package's tests in the machine, and
# PART=here those on this machine alone.
set -uo pipefail
cd "$(dirname "$0")/../.."
status=0 part=${PART:-1/1}

# End-to-end tests that the version of cgroups cannot change, so the emulator, which is thirty times slower, leaves them out.
callers='AuditLog|RolesLimit|ViewersSee|Credentials|ConfiguredAuth|OwnerSets|Operators|Token|RevokedCertificate|NarrowedRoles|TheCommandLine(Changes|Reaches|ShowsANode)|StreamsEnd'
sources='BadManifest|EachWrong|BadFiles|BadURL|OfAnotherSource|TheSameAgain|WhicheverWay|FromFileAndURL|FilesBesideIt|Objects|StaticPods|Examples|TheyName|FollowsItsConfiguration|KeyOfSecrets|OfANewerAgent'
volumes='Persistent|CSIDriver|PublishedAgain|ForOnePodAlone|ComeFromFiles|HostileFiles|ConfigMaps|MountOptions|VolumesBehave|TestVolumes$|TrustBundles|BusyUnmount|VolumesComeAndGo'
images='PrivateImages|SickRegistry|PullInProgress|OnePull|FailedPull|PullThatFills|ImagesOfAForeign|ImageIsRemoved|SandboxImage|ImportedImage|AnImageIs'
logs='LogsAreRead|FollowedLog|LeadsElsewhere|MissingLogs|LogsOfTheMachine|LogsStay'
shows='UpstreamsSockets|ShownAsItWas|ReadOnlyPort|HealthzPort|MissingImage|ReadinessGates|EventsAndTimeline|PluginsRegister|UpstreamsUsers|PriorityOfTheirClass|DoNotFit|UnsafeConfinement'
network='NetworkPolicies|PodCIDR|NoNetwork|PortsOfAPod|Watch|Resolvers'
floods='TakeNoMemory|TakesNoMemory'
skip="$callers|$sources|$volumes|$images|$logs|$shows|$network|$floods"

# Without this check, a renamed test would be run again unnoticed.
names=$(sed -n 's/^func \(Test[A-Za-z0-9]*\)(.*/\1/p' test/e2e/*_test.go)
for word in $(sed 's/([^)]*)//g; s/|/ /g' <<<"$skip"); do
  grep -qE "$word" <<<"$names" || { echo "vm/all.sh: no end-to-end test has $word in its name" >&2; exit 1; }
done

here() {
  export NODAL_REQUIRE_ROOT=1 NODAL_PACE=3 NODAL_RIG_BUNDLE=$PWD/host/runtime/embedded
  go test -json -vet=off -timeout 90m -p 1 -parallel 3 ./test/conformance/... ./test/noderuntime ./test/e2e | go run ./test/summary -part
}
[[ $part = */* && $part != 1/1 ]] || test/phase.sh "the kubelet's own runtime, here" bash -o pipefail -c "$(declare -f here); here" || status=1
[ "$part" != here ] || exit $status
test/phase.sh "cgroup v2, made by the runtime" \
  test/vm/tests.sh --part "$part" --skip "$skip" host/cgroup test/conformance test/noderuntime test/dist:TestOneFile test/e2e || status=1
limits='PodsOfEachClass|APodIsHeld|PodsDoNotGetReserved|LimitsOf|GuaranteedContainers|CPUsAndMemory|ResourcesChange|PodsGetHugePages'
limits+='|TheKernelKeepsTheMemory|StatsAre|ContainersSwap|OutOfMemory|RuntimeClasses|ContainersAreConfined|PodsWithTheirOwnUser'
lives='DeletionLeavesNothing|DeletionGoesOn|KilledAgent|KilledRuntime|KilledContainer|PodsOfAnotherKubelet|APodWithATask'
test/phase.sh "cgroup v2, made by systemd" \
  test/vm/tests.sh --part "$part" --systemd host/cgroup test/conformance test/dist:TestSystemd \
  test/noderuntime:TestPodsOutlive "test/e2e:Test($limits|$lives)" || status=1
exit $status
