package rules_test

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"

	"nodal/node"
	"nodal/node/manifest"
)

const lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: leader}\n"

func TestALeaseKeepsItsMicroseconds(t *testing.T) {
	docs, err := manifest.Decode([]byte(lease+"spec: {holderIdentity: a, renewTime: '2026-11-27T23:00:00.123456Z'}\n"), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := node.As[*coordinationv1.Lease](docs[0].Object).Spec; *got.HolderIdentity != "a" || got.RenewTime.Nanosecond() != 123456000 {
		t.Errorf("got %+v", got)
	}
}

func TestLeasesFollowKubernetesRules(t *testing.T) {
	for spec, where := range map[string]string{
		"{leaseDurationSeconds: 0}":                   "spec.leaseDurationSeconds",
		"{leaseTransitions: -1}":                      "spec.leaseTransitions",
		"{preferredHolder: b}":                        "spec",
		"{strategy: OldestEmulationVersion}":          "spec",
		"{leaseDurationSeconds: 1, acquireTime: now}": "acquireTime",
	} {
		if _, err := manifest.Decode([]byte(lease+"spec: "+spec+"\n"), manifest.Options{}); err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: got %v, want a fault of %s", spec, err, where)
		}
	}
}
