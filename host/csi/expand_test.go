package csi

import (
	"context"
	"errors"
	"strings"
	"testing"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func (f *fake) NodeExpandVolume(_ context.Context, r *csiapi.NodeExpandVolumeRequest) (*csiapi.NodeExpandVolumeResponse, error) {
	f.expandedBy = r
	return &csiapi.NodeExpandVolumeResponse{}, f.call("expand", r.GetVolumePath())
}

func TestADriverGrowsAVolumeWhereAPodHasIt(t *testing.T) {
	b := newBench(t)
	mounts := b.do
	b.do = func(call, path string) {
		if call != "expand" {
			mounts(call, path)
		}
	}
	b.pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	b.pv.Spec.CSI.NodeExpandSecretRef = &corev1.SecretReference{Namespace: "default", Name: "disk"}
	b.Secret = func(ref node.ObjectRef) (*node.Object, bool) {
		return node.NewObject(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}, Data: map[string][]byte{"password": []byte("open")}}), true
	}
	id, _ := node.CSIVolumeOf(b.pv)
	wantHas := func(when string, want bool) {
		t.Helper()
		if has, err := b.Has(t.Context(), id); has != want || err != nil {
			t.Errorf("%s: a pod has it: %t, %v", when, has, err)
		}
	}
	expand := func() error { return b.Expand(t.Context(), b.pv) }

	wantHas("before it is published", false)
	if err := expand(); !errors.Is(err, node.ErrNotFound) {
		t.Errorf("no pod has it: got %v", err)
	}
	if err := errors.Join(b.stage(), b.publish()); err != nil {
		t.Fatal(err)
	}
	b.again()
	wantHas("for the next agent", true)
	b.fails["expand"] = errors.New("bad")
	const words = `NodeExpandVolume.NodeExpandVolume failed for volume "pv" : Expander.NodeExpand failed to expand the volume : rpc error: code = Unknown desc = bad`
	var failure *node.Failure
	if err := expand(); !errors.As(err, &failure) || failure.Reason != node.VolumeResizeFailed || failure.Error() != words {
		t.Errorf("got %v, want %s", failure, words)
	}
	delete(b.fails, "expand")
	if err := expand(); err != nil {
		t.Error(err)
	}
	r := b.expandedBy
	if r.GetVolumeId() != "a/../b" || r.GetVolumePath() != b.pub.Path || !strings.HasSuffix(r.GetStagingTargetPath(), "/globalmount") ||
		r.GetCapacityRange().GetRequiredBytes() != 2<<30 || r.GetSecrets()["password"] != "open" || r.GetVolumeCapability().GetMount() == nil {
		t.Errorf("the driver has heard %v", r)
	}
	if err := b.unpublish(); err != nil {
		t.Fatal(err)
	}
	wantHas("after it is given back", false)
	if err := expand(); !errors.Is(err, node.ErrNotFound) {
		t.Errorf("the pod has given it back: got %v", err)
	}
}
