#!/bin/bash
# Runs the tests of a node in a cluster on the control plane of another minor version: planes.sh 1.35. They are the journey
# through kubectl, and those in which the API server has a part: joining, rights, certificates, devices and volumes. The
# kubectl of that version works on a node without a cluster, too. Then its kubeadm makes a cluster.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests='NodeJoins|KubeletJoins|NodeAsks|ClusterIssues|BootstrapToken|CloudController|ClusterAuthorizes|GoDownByKubectl|DevicesOfTheirClaims|ControllerAttaches|Outages|NodeAlone|ServersSide'
# Without this check, a renamed test would drop out unnoticed.
names=$(sed -n 's/^func \(Test[A-Za-z0-9]*\)(.*/\1/p' test/cluster/*_test.go)
for word in ${tests//|/ }; do
  grep -q "$word" <<<"$names" || { echo "planes: no test has $word in its name" >&2; exit 1; }
done
test/cluster/parts/minor.sh "$1"
export NODAL_PLANE=$1 NODAL_REQUIRE_ROOT=1
go test -count=1 -short -timeout 1h -parallel 3 -run "$tests" ./test/cluster
go test -count=1 -short -timeout 15m ./test/kubeadm
