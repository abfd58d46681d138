package reconciler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// growing is a store with a claim of 1Gi, which is bound to a volume of a driver, and a pod that mounts it.
type growing struct {
	t     *testing.T
	store *store.Store
	board *store.Plugins
	pod   *node.Pod
	err   error // of the driver
	asked int
}

func newGrowing(t *testing.T) *growing {
	t.Helper()
	clock, err := store.OpenClock(unkept{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}
	object.Spec.Volumes = []corev1.Volume{{Name: "disk", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	object.Spec.Containers = []corev1.Container{{Name: "main", VolumeMounts: []corev1.VolumeMount{{Name: "disk", MountPath: "/disk"}}}}
	g := &growing{t: t, store: store.New(unkept{}, clock), board: store.NewPlugins(node.CSIPlugin), pod: &node.Pod{Object: object}}
	g.claim("c1", "1Gi")
	g.volume("1Gi")
	return g
}

func (g *growing) put(value node.Value) {
	g.t.Helper()
	if _, err := g.store.Transact(func(tx *store.Tx) error { tx.PutObject(node.NewObject(value)); return nil }); err != nil {
		g.t.Fatal(err)
	}
}

func (g *growing) claim(uid types.UID, size string) {
	g.t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: uid}}
	claim.Spec.VolumeName, claim.Status.Phase = "pv", corev1.ClaimBound
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	g.put(claim)
}

func (g *growing) volume(size string) {
	g.t.Helper()
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "h"}
	volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	g.put(volume)
}

// known returns the capacity that the claim knows of.
func (g *growing) known() string {
	g.t.Helper()
	o, ok := g.store.Object(node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"})
	if !ok {
		g.t.Fatal("the claim is gone")
	}
	return o.Claim().Status.Capacity.Storage().String()
}

// driver has the driver register, with something that it can do.
func (g *growing) driver(able string) {
	socket := node.PluginSocket{Name: "disk.sock"}
	g.board.Found([]node.PluginSocket{socket}, time.Time{})
	g.board.Introduced(socket, node.PluginInfo{Type: node.CSIPlugin, Name: "disk", Driver: &node.CSIDriver{Capabilities: []string{able}}}, time.Time{})
}

func (g *growing) Has(context.Context, node.CSIVolume) (bool, error) { return true, nil }
func (g *growing) Expand(context.Context, *corev1.PersistentVolume) error {
	g.asked++
	return g.err
}

func TestWhichVolumesHaveGrown(t *testing.T) {
	g := newGrowing(t)
	kind := GrownVolumes(GrowthsIn(g.store, g.board), g)
	wanted := func() []Wanted[node.VolumeGrowth] { return kind.Wanted(slices.Values([]*node.Pod{g.pod})) }
	if got := wanted(); len(got) > 0 {
		t.Errorf("a claim knows of the whole volume: got %+v", got)
	}
	g.volume("2Gi")
	got := wanted()
	if len(got) != 1 || got[0].Name != "disk/h" || got[0].Want.Pod != g.pod || got[0].Want.Able || !slices.Equal(got[0].Users, []node.Key{g.pod.Key()}) {
		t.Fatalf("it has grown, and its driver is away: got %+v", got)
	}
	for _, able := range []string{node.StagesVolumes, node.GrowsVolumes} {
		g.driver(able)
		if got := wanted(); got[0].Want.Able != (able == node.GrowsVolumes) {
			t.Errorf("its driver can %s: got %+v", able, got)
		}
	}
	if _, err := g.store.Transact(func(tx *store.Tx) error {
		tx.Put(g.pod.Key(), &node.Slot{Pod: g.pod, Result: &corev1.PodStatus{Phase: corev1.PodSucceeded}})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := wanted(); len(got) != 1 || got[0].Want.Pod != nil || len(got[0].Users) > 0 {
		t.Errorf("its pod has finished: got %+v", got)
	}
}

func TestAClaimKnowsOfAGrowthOnceItsDriverHasDoneItsPart(t *testing.T) {
	g := newGrowing(t)
	kind := GrownVolumes(GrowthsIn(g.store, g.board), g)
	g.volume("2Gi")
	action := node.ExpandVolume{Growth: kind.Wanted(slices.Values([]*node.Pod{g.pod}))[0].Want}
	g.err = errors.New("bad")
	if err := kind.Do(t.Context(), action); !errors.Is(err, g.err) || g.known() != "1Gi" {
		t.Errorf("the driver fails: got %v, and the claim knows of %s", err, g.known())
	}
	g.err = nil
	for range 2 { // the first answer may be lost
		if err := kind.Do(t.Context(), action); err != nil || g.known() != "2Gi" {
			t.Errorf("got %v, and the claim knows of %s", err, g.known())
		}
	}
	if got := kind.Wanted(slices.Values([]*node.Pod{g.pod})); len(got) > 0 || g.asked != 3 {
		t.Errorf("then %+v is wanted, and the driver was asked %d times", got, g.asked)
	}
	g.claim("another", "1Gi")
	if err := kind.Do(t.Context(), action); err != nil || g.known() != "1Gi" {
		t.Errorf("of a claim that is gone: got %v, and a later one of its name knows of %s", err, g.known())
	}
}
