package store

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func trustBundle(name string) *node.Object {
	o := node.NewObject(&certificatesv1.ClusterTrustBundle{})
	o.Trust().Name = name
	return o
}

func TestAFamilyChangesWithEachOfItsBundles(t *testing.T) {
	s := openStore(t, newMemory())
	family := node.ObjectRef{Kind: node.ClusterTrustBundle, Name: "example.com/ca"}
	one := node.ObjectRef{Kind: node.ClusterTrustBundle, Name: "example.com:ca:one"}
	told := func() (of, all int64) {
		revisions := s.Revisions([]node.ObjectRef{one, family})
		return revisions[one], revisions[family]
	}
	if of, all := told(); of != 0 || all != 0 {
		t.Errorf("before there is any: got %d and %d", of, all)
	}
	var last int64
	for _, step := range []struct {
		name    string
		write   func(*Tx)
		changes bool
	}{
		{"one is posted", func(tx *Tx) { tx.PutObject(trustBundle("example.com:ca:one")) }, true},
		{"another", func(tx *Tx) { tx.PutObject(trustBundle("example.com:ca:two")) }, true},
		{"one of another signer", func(tx *Tx) { tx.PutObject(trustBundle("example.com:other:one")) }, false},
		{"one of nobody", func(tx *Tx) { tx.PutObject(trustBundle("one")) }, false},
		{"one goes", func(tx *Tx) { tx.DropObject(one) }, true},
	} {
		if _, err := s.Transact(func(tx *Tx) error { step.write(tx); return nil }); err != nil {
			t.Fatal(err)
		}
		if _, all := told(); all > last != step.changes {
			t.Errorf("%s: the family went from %d to %d", step.name, last, all)
		} else {
			last = all
		}
	}
	if of, _ := told(); of != 0 {
		t.Errorf("what is gone is there since %d", of)
	}
}

func TestVolumesAreMadeFromBundlesAndFamilies(t *testing.T) {
	name, signer := "example.com:ca:one", "example.com/ca"
	volume := &corev1.Volume{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: &name}},
		{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{SignerName: &signer}},
	}}}}
	got := node.VolumeRefs(&corev1.Pod{}, volume)
	if len(got) != 2 || got[0].String() != "ClusterTrustBundle example.com:ca:one" || got[1] != got[0].Family() {
		t.Errorf("got %v, want the bundle and its family", got)
	}
}
