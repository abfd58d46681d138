#!/bin/bash
# gotest.sh [all] runs the tests of packages, fast ones first, and prints a summary. Without "all" it leaves out those of
# test/whole.txt, which take long and show details. Real packages run one by one,
# with some tests of each side by side. More tests would wait for processors, fewer for pods. While
# one runs, the next is built: a lock keeps them apart, so the time of one may hold the wait for another.
set -uo pipefail
cd "$(dirname "$0")/.."

# The end-to-end tests for which the version of the runtime matters. They run a second time, on the
# containerd that the kubelet brings along; the others test the agent alone. "make test-v2" runs all
# of them on it.
lives='PodThatEnds|Killed|DeletionGoesOn|Vanishes|SandboxDies|CanGo$|Hooks$|ProbesOfEveryKind|TerminationMessages|Sidecars|Ephemeral|StartsWithoutARuntime|BadPodsHarm|StatusIsWhat'
limits='ResourcesChange|PodsOfEachClass|HeldToLimits|ExclusiveCPUs|TheirOwnUserNamespaces|AreAligned|HugePages|HasADevice|OutOfMemoryEnds|StatsAre|DescribeTheAgent|Collector'
security='Confined|GroupsOfTheImage|RuntimeClasses|KnowTheirIdentity|HostsNamespaces'
files='AnImageIsAVolume|MountOptions|VolumesBehave|ConfigMapsAndSecrets|LogsAreRead'
images='PrivateImages|PullInProgress|FailedPull|AnImageIs|SandboxImage|ImportedImage'
streams='CommandsRun|ClientsAttach|PortsOfAPod|OwnRuntime|NoNetwork'
of_the_runtime="$lives|$limits|$security|$files|$images|$streams"
# Without this check, a renamed test would drop out unnoticed.
names=$(sed -n 's/^func \(Test[A-Za-z0-9]*\)(.*/\1/p' test/e2e/*_test.go)
for word in ${of_the_runtime//|/ }; do
  grep -qE "$word" <<<"$names" || { echo "gotest: no end-to-end test has $word in its name" >&2; exit 1; }
done

whole=()
if [ "${1:-}" != all ]; then
  mapfile -t whole < <(grep -v '^#' test/whole.txt)
  all=$(grep -rhoE --include='*_test.go' '^func Test[A-Za-z0-9]+' test host | cut -d' ' -f2)
  for name in "${whole[@]}"; do
    grep -qx "$name" <<<"$all" || { echo "gotest: test/whole.txt has $name, and no test has that name" >&2; exit 1; }
  done
fi
skip="^($(IFS='|'; echo "${whole[*]:-none}"))$"

# Real packages whose tests run the project's code in their own process.
in_process='^nodal/(host/cri|test/(conformance(/action)?|noderuntime|rig))$'

fast=$(test/packages.sh fast) && real=$(test/packages.sh real) || exit 1
failed=0
export CGO_ENABLED=1 # for the race detector; shipped binaries are built without
export GOFLAGS="${GOFLAGS:-} -vet=off" # lint has run all of vet
# What is built meanwhile must not look as if a test had left it, so only tests carry the mark of the run.
alone() {
  env -u NODAL_TEST_RUN NODAL_RUN="${NODAL_TEST_RUN:-}" go test -json -timeout 30m -exec "$PWD/test/alone.sh" -p 2 -parallel 3 -skip "$skip" "$@"
}
# Their tests have one goroutine, and reading all sources takes five times as long with the race detector.
single='^nodal/(agent/config|test/(arch|oracle|differences))$'

# The seeds take minutes of processors and nothing of the machine, so they run beside tests that mostly wait. They bear no
# mark of the run: the others would take them for leftovers.
seeds=$PWD/.cache/seeds.json
seeds() { CGO_ENABLED=0 nice -n 19 env -u NODAL_TEST_RUN go test -json -timeout 60m ./sim ./sim/adapter >"$seeds"; }
{
  # shellcheck disable=SC2046
  go test -json -race -timeout 20m $(grep -vE "$single" <<<"$fast") || failed=1
  seeds & seeding=$!
  # The race detector makes these ten times slower, and the matrix of callers four, so they run without it.
  # shellcheck disable=SC2046
  CGO_ENABLED=0 go test -json -timeout 20m $(grep -E "$single" <<<"$fast") || failed=1
  CGO_ENABLED=0 go test -C host/runtime/bundle -json -timeout 5m ./containerd-shim-runc-v2 ./network || failed=1
  CGO_ENABLED=0 go test -json -timeout 20m -run Matrix ./server || failed=1
  # shellcheck disable=SC2046
  alone -race $(grep -E "$in_process" <<<"$real") || failed=1
  export CGO_ENABLED=0
  # The agents of the others are processes of their own, which the race detector does not see. With -short, tests of
  # endurance do less than in "make chaos", "make bench" and "make test-v2".
  # shellcheck disable=SC2046
  alone -short $(grep -vE "$in_process" <<<"$real") || failed=1
  # Once more on the runtime that the kubelet brings along.
  export NODAL_RIG_BUNDLE=$PWD/host/runtime/embedded
  go test -json -tags bundle ./host/runtime/embedded || failed=1
  [ ${#whole[@]} != 0 ] || alone ./test/conformance/... || failed=1
  # Debian's containerd mounts no images, and upstream's kubelet goes by the runtime.
  [ ${#whole[@]} != 0 ] || alone -run 'UpstreamsKubeletAndThisOneTakeTurns$' ./test/cluster || failed=1
  alone ./test/noderuntime || failed=1
  go test -json -short -timeout 30m -parallel 3 -skip "$skip" -run "$of_the_runtime" ./test/e2e || failed=1
  wait $seeding || failed=1
  cat "$seeds"
  exit $failed # a run that could not begin has no failed test
} | go run ./test/summary -left "$(IFS=,; echo "${whole[*]}")"
