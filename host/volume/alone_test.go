package volume

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

func TestOnePodAloneHasAVolumeUntilItGivesItBack(t *testing.T) {
	for name, source := range map[string]corev1.PersistentVolumeSource{
		"of the machine": local(t.TempDir()),
		"of a driver":    {CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "h"}},
	} {
		b, d := newBench(t), &drivers{}
		b.CSI = d
		v := b.bound(source, false)
		v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
		first, second := pod(fromClaim()), pod(fromClaim())
		second.Object.UID = "u2"
		b.setUp(first)
		for range 2 { // and over the end of the agent
			if err := b.SetUp(t.Context(), second, "v"); err == nil || err.Error() !=
				`MountVolume.SetUp failed for volume "v" : volume uses the ReadWriteOncePod access mode and is already in use by another pod` {
				t.Errorf("%s: the second pod: got %v", name, err)
			}
			b.setUp(first)
			b.Tree = New(b.Config)
		}
		if err := b.TearDown(t.Context(), "u1"); err != nil {
			t.Fatal(err)
		}
		b.setUp(second)
		if err := b.SetUp(t.Context(), first, "v"); err == nil || !strings.Contains(err.Error(), "already in use") {
			t.Errorf("%s: the first pod, after the second: got %v", name, err)
		}
	}
}

func TestOfManyPodsOneHasTheVolume(t *testing.T) {
	b := newBench(t)
	v := b.bound(local(t.TempDir()), false)
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	const pods = 8
	got := make(chan error, pods)
	for i := range pods {
		p := pod(fromClaim())
		p.Object.UID = types.UID(rune('a' + i))
		go func(p *node.Pod) { got <- b.SetUp(t.Context(), p, "v") }(p)
	}
	had := 0
	for range pods {
		if <-got == nil {
			had++
		}
	}
	if found, _ := filepath.Glob(filepath.Join(b.Pods, "*/volumes/*/disk")); had != 1 || len(found) != 1 {
		t.Errorf("%d pods have it, in %q; want one", had, found)
	}
}
