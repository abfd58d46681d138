#!/bin/bash
# tests.sh [--timeout SECONDS] [--together] [--part I/N] [--skip TESTS] [--systemd] PACKAGE[:TESTS]...
#
# Runs tests of packages, such as test/e2e, on cgroup v2 and on the kubelet's own runtime. Each package
# runs in a machine of its own, with all of its tests or those that match TESTS. For packages after
# --systemd, systemd makes the cgroups. The machines run one after the other with all CPUs or, with
# --together, at the same time with one CPU each. Files written by tests stay in a machine's memory.
# --part 2/6 runs every sixth test of each package, from its second on. --skip leaves tests of every package out.
set -uo pipefail
cd "$(dirname "$0")/../.."
timeout=7200 together=no cpus=$(nproc) memory=6G driver=cgroupfs part=1/1 skip= wanted=() packages=()
while [ $# -gt 0 ]; do
  case $1 in
    --timeout) timeout=$2; shift ;;
    --together) together=yes cpus=1 memory=3G ;;
    --part) part=$2; shift ;;
    --skip) skip=$2; shift ;;
    --systemd) driver=systemd ;;
    *) wanted+=("$driver $1"); packages+=("${1%%:*}") ;;
  esac
  shift
done
if ! [[ $part =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] || ((BASH_REMATCH[1] > BASH_REMATCH[2])); then
  echo "tests.sh: --part $part is no part such as 2/6" >&2
  exit 2
fi
test/vm/setup.sh || exit
built=$PWD/.cache/vm/tests
test/vm/build.sh "$built" "${packages[@]}" || exit 1

# Limits stay limits; this machine is slow.
export NODAL_REQUIRE_ROOT=1 NODAL_PACE=10
export NODAL_KUBELET=$built/kubelet NODAL_PROBE=$built/probe NODAL_GRPCURL=$built/grpcurl NODAL_REGISTRY=$built/registry
export NODAL_RIG_BUNDLE=$PWD/host/runtime/embedded
export NODAL_DIST=$built/dist NODAL_DIST_VERSION=vm

# run DRIVER PACKAGE[:TESTS]: tests find their files beside their source.
run() {
  local package=${2%%:*} tests=. first=()
  [ "$2" = "$package" ] || tests=${2#*:}
  [ "$1" = cgroupfs ] || first=(--systemd)
  if [ "$part" != 1/1 ]; then
    tests=$(cd "$package" && "$built/${package//\//-}.test" -test.list "$tests" | grep ^Test | sort |
      awk -v part="$part" 'BEGIN { split(part, p, "/") } NR % p[2] == p[1] % p[2]' | paste -sd'|')
    [ -n "$tests" ] || return 0
    tests="^($tests)$"
  fi
  NODAL_CGROUP_DRIVER=$1 test/vm/run.sh "${first[@]}" --timeout "$timeout" --cpus "$cpus" --memory "$memory" \
    "cd $package && $built/${package//\//-}.test -test.v=test2json -test.timeout=${timeout}s -test.parallel=3 -test.run='$tests' -test.skip='$skip'" |
    go tool test2json -t -p "nodal/$package (cgroup v2, $1)" | "$built/summary" -part -each
}
status=0 machines=()
for one in "${wanted[@]}"; do
  # one holds two words
  run $one &
  if [ $together = yes ]; then machines+=($!); else wait $! || status=1; fi
done
for machine in "${machines[@]}"; do wait "$machine" || status=1; done
exit $status
