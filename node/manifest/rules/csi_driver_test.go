package rules_test

import (
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"

	"nodal/node"
	"nodal/node/manifest"
)

func driverText(from, spec string) []byte {
	return []byte("apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: disk.example.com, annotations: {nodal.node/from: " + from + "}}\nspec: {" + spec + "}\n")
}

func TestACSIDriverHasKubernetesDefaults(t *testing.T) {
	docs, err := manifest.Decode(driverText("me", ""), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := node.As[*storagev1.CSIDriver](docs[0].Object).Spec
	if len(got.VolumeLifecycleModes) != 1 || got.VolumeLifecycleModes[0] != storagev1.VolumeLifecyclePersistent || !*got.AttachRequired ||
		*got.PodInfoOnMount || *got.FSGroupPolicy != storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy {
		t.Errorf("got %+v", got)
	}
}

func TestCSIDriversFollowKubernetesRules(t *testing.T) {
	for _, c := range []struct{ name, from, spec, want string }{
		{"a mode that is none", "me", "volumeLifecycleModes: [Sometimes]", "spec.volumeLifecycleModes: "},
		{"a policy that is none", "me", "fsGroupPolicy: Sometimes", "spec.fsGroupPolicy: "},
		{"tokens of a node alone", "me", "tokenRequests: [{audience: a}]", "spec.tokenRequests: "},
		{"tokens of a cluster", node.Cluster, "tokenRequests: [{audience: a}]", ""},
		{"one audience twice", node.Cluster, "tokenRequests: [{audience: a}, {audience: a}]", "spec.tokenRequests[1].audience: "},
		{"a token for a moment", node.Cluster, "tokenRequests: [{audience: a, expirationSeconds: 1}]", "spec.tokenRequests[0].expirationSeconds: "},
		{"no tokens as secrets", "me", "serviceAccountTokenInSecrets: true", "spec.serviceAccountTokenInSecrets: "},
		{"a count all the time", "me", "nodeAllocatableUpdatePeriodSeconds: 1", "spec.nodeAllocatableUpdatePeriodSeconds: "},
	} {
		_, err := manifest.Decode(driverText(c.from, c.spec), manifest.Options{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want a violation at %q", c.name, err, c.want)
		}
	}
}
