package storage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

var now = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// volume is a posted one, of a size and access modes, with changes.
func volume(name, size string, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("v-" + name)}}
	v.Spec.Capacity = corev1.ResourceList{"storage": resource.MustParse(size)}
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	v.Spec.Local = &corev1.LocalVolumeSource{Path: "/disks/" + name}
	v.Status.Phase = corev1.VolumeAvailable
	for _, f := range change {
		f(v)
	}
	return v
}

func claim(name, size string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("c-" + name)}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{"storage": resource.MustParse(size)}
	for _, f := range change {
		f(c)
	}
	return c
}

func classOf(name string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &name }
}

func ofClass(name string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = name }
}

func labelled(v *corev1.PersistentVolume) { v.Labels = map[string]string{"disk": "ssd"} }

func block(v *corev1.PersistentVolume) {
	v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
}

func deleted(meta metav1.Object) { meta.SetDeletionTimestamp(&metav1.Time{Time: now}) }

func elsewhere(v *corev1.PersistentVolume) {
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}},
	}}}}
}

func placed(v *corev1.PersistentVolume) {
	metav1.SetMetaDataAnnotation(&v.ObjectMeta, node.AnnotationPlaced, "true")
}

func setAsideFor(claim string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: claim}
	}
}

// ledger is a Book that changes are written into.
type ledger struct {
	Book
	Keeper
	uids int
}

func newLedger(dir string) *ledger {
	l := &ledger{}
	l.Keeper = Keeper{Name: "here", Labels: func() map[string]string { return map[string]string{"zone": "a"} }, Dir: dir, NewUID: func() types.UID {
		l.uids++
		return types.UID(fmt.Sprintf("uid-%d", l.uids))
	}}
	return l
}

// settle settles until nothing changes, which has to be at once.
func (l *ledger) settle(t *testing.T) {
	t.Helper()
	l.write(l.Settle(l.Book, now))
	if again := l.Settle(l.Book, now); len(again.Put)+len(again.Drop) > 0 {
		t.Errorf("settled twice, there is more to change: %+v", again)
	}
}

func (l *ledger) write(c Change) {
	gone := func(ref node.ObjectRef) {
		l.Volumes = slices.DeleteFunc(l.Volumes, func(v *corev1.PersistentVolume) bool { return (node.NewObject(v)).Ref() == ref })
		l.Claims = slices.DeleteFunc(l.Claims, func(c *corev1.PersistentVolumeClaim) bool { return (node.NewObject(c)).Ref() == ref })
	}
	for _, ref := range c.Drop {
		gone(ref)
	}
	for _, o := range c.Put {
		gone(o.Ref())
		if o.Volume() != nil {
			l.Volumes = append(l.Volumes, o.Volume())
		} else {
			l.Claims = append(l.Claims, o.Claim())
		}
	}
}

// show is the ledger in a line: claims, then volumes.
func (l *ledger) show() string {
	var parts []string
	slices.SortFunc(l.Claims, func(a, b *corev1.PersistentVolumeClaim) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range l.Claims {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Name, c.Status.Phase, c.Spec.VolumeName)))
	}
	slices.SortFunc(l.Volumes, func(a, b *corev1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
	for _, v := range l.Volumes {
		text := fmt.Sprintf("%s %s", v.Name, v.Status.Phase)
		if Doomed(v) {
			text += " doomed"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func TestClaimsAreBound(t *testing.T) {
	for _, c := range []struct {
		name    string
		volumes []*corev1.PersistentVolume
		claim   *corev1.PersistentVolumeClaim
		want    string
		why     string
	}{
		{"the smallest that is large enough", []*corev1.PersistentVolume{volume("a", "8Gi"), volume("b", "2Gi"), volume("c", "1Gi")},
			claim("data", "2Gi"), "data Bound b; a Available; b Bound; c Available", ""},
		{"of two alike the first by name", []*corev1.PersistentVolume{volume("b", "1Gi"), volume("a", "1Gi")},
			claim("data", "1Gi"), "data Bound a; a Bound; b Available", ""},
		{"none is large enough", []*corev1.PersistentVolume{volume("a", "1Gi")}, claim("data", "2Gi"),
			"data Pending; a Available", `no PersistentVolume of class "" fits`},
		{"the class has to be the same", []*corev1.PersistentVolume{volume("a", "1Gi"), volume("b", "4Gi", ofClass("fast"))},
			claim("data", "1Gi", classOf("fast")), "data Bound b; a Available; b Bound", ""},
		{"no volume of another class", []*corev1.PersistentVolume{volume("a", "1Gi")}, claim("data", "1Gi", classOf("fast")),
			"data Pending; a Available", `no PersistentVolume of class "fast" fits`},
		{"the access mode", []*corev1.PersistentVolume{volume("a", "1Gi")},
			claim("data", "1Gi", func(c *corev1.PersistentVolumeClaim) {
				c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
			}), "data Pending; a Available", `no PersistentVolume of class "" fits`},
		{"a device is not files", []*corev1.PersistentVolume{volume("a", "1Gi", block)}, claim("data", "1Gi"),
			"data Pending; a Available", `no PersistentVolume of class "" fits`},
		{"the selector", []*corev1.PersistentVolume{volume("a", "1Gi"), volume("b", "1Gi", labelled)},
			claim("data", "1Gi", func(c *corev1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "ssd"}}
			}), "data Bound b; a Available; b Bound", ""},
		{"the node affinity of the volume", []*corev1.PersistentVolume{volume("a", "1Gi", elsewhere), volume("b", "2Gi")},
			claim("data", "1Gi"), "data Bound b; a Available; b Bound", ""},
		{"what whoever brought it knows of the node's labels", []*corev1.PersistentVolume{volume("a", "1Gi", elsewhere, placed)},
			claim("data", "1Gi"), "data Bound a; a Bound", ""},
		{"the volume that it names", []*corev1.PersistentVolume{volume("a", "1Gi"), volume("b", "9Gi")},
			claim("data", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "b" }), "data Bound b; a Available; b Bound", ""},
		{"it waits for the volume that it names", []*corev1.PersistentVolume{volume("a", "1Gi")},
			claim("data", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "b" }), "data Pending b; a Available",
			`there is no PersistentVolume "b"`},
		{"the one that it names is too small", []*corev1.PersistentVolume{volume("b", "1Gi")},
			claim("data", "2Gi", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "b" }), "data Pending b; b Available",
			`PersistentVolume "b" has 1Gi, not 2Gi`},
		{"the volume that is set aside for it", []*corev1.PersistentVolume{volume("a", "1Gi"), volume("b", "9Gi", setAsideFor("data"))},
			claim("data", "1Gi"), "data Bound b; a Available; b Bound", ""},
		{"none that is set aside for another", []*corev1.PersistentVolume{volume("a", "1Gi", setAsideFor("other"))},
			claim("data", "1Gi"), "data Pending; a Available", `no PersistentVolume of class "" fits`},
		{"none that goes", []*corev1.PersistentVolume{volume("a", "1Gi", func(v *corev1.PersistentVolume) { deleted(v) })},
			claim("data", "1Gi"), "data Pending", `no PersistentVolume of class "" fits`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger("")
			l.Volumes, l.Claims = c.volumes, []*corev1.PersistentVolumeClaim{c.claim}
			l.settle(t)
			if got := l.show(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := l.Pending(l.Claims[0], l.Volumes); got != c.why {
				t.Errorf("it waits for %q, want %q", got, c.why)
			}
		})
	}
}

func TestTheNodeMakesVolumes(t *testing.T) {
	for _, c := range []struct {
		name  string
		claim *corev1.PersistentVolumeClaim
		want  string
	}{
		{"of no class", claim("data", "1Gi"), "data Bound pvc-c-data; pvc-c-data Bound"},
		{"of its own", claim("data", "1Gi", classOf(LocalClass)), "data Bound pvc-c-data; pvc-c-data Bound"},
		{"to be kept", claim("data", "1Gi", classOf(LocalRetainClass)), "data Bound pvc-c-data; pvc-c-data Bound"},
		{"not of another class", claim("data", "1Gi", classOf("fast")), "data Pending"},
		{"not for a selector", claim("data", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} }), "data Pending"},
		{"no devices", claim("data", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) }), "data Pending"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger("/node/volumes")
			l.Claims = []*corev1.PersistentVolumeClaim{c.claim}
			l.settle(t)
			if got := l.show(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if len(l.Volumes) == 1 && l.Volumes[0].Spec.Local.Path != "/node/volumes/pvc-c-data" {
				t.Errorf("it lies at %s", l.Volumes[0].Spec.Local.Path)
			}
		})
	}
}

func user(name, claim string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("p-" + name)},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}},
	}
}

func TestVolumesAndClaimsInUseStay(t *testing.T) {
	l := newLedger("/node/volumes")
	l.Volumes = []*corev1.PersistentVolume{volume("a", "1Gi")}
	l.Claims = []*corev1.PersistentVolumeClaim{claim("data", "1Gi"), claim("made", "1Gi"), claim("kept", "1Gi", classOf(LocalRetainClass))}
	l.Pods, l.Waiting = []*corev1.Pod{user("web", "data"), user("api", "made")}, []*corev1.Pod{user("api", "kept")}
	l.settle(t)
	step := func(what, want string) {
		t.Helper()
		l.settle(t)
		if got := l.show(); got != want {
			t.Fatalf("%s: got %s\nwant %s", what, got, want)
		}
	}
	step("at first", "data Bound a; kept Bound pvc-c-kept; made Bound pvc-c-made; a Bound; pvc-c-kept Bound; pvc-c-made Bound")
	for i := range l.Claims {
		l.Claims[i] = l.Claims[i].DeepCopy()
		deleted(l.Claims[i])
	}
	step("deleted in use", "data Bound a; kept Bound pvc-c-kept; made Bound pvc-c-made; a Bound; pvc-c-kept Bound; pvc-c-made Bound")
	l.Pods, l.Waiting = nil, nil
	step("no longer in use", "a Released; pvc-c-kept Released; pvc-c-made Released doomed")
	l.Claims = append(l.Claims, claim("data", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.UID = "c-next" }))
	step("another claim gets nothing that was used", "data Bound pvc-c-next; a Released; pvc-c-kept Released; pvc-c-made Released doomed; pvc-c-next Bound")
	for i, v := range l.Volumes {
		l.Volumes[i] = v.DeepCopy()
		deleted(l.Volumes[i])
	}
	step("volumes that are deleted go unless they are bound or have to be emptied first",
		"data Bound pvc-c-next; pvc-c-made Released doomed; pvc-c-next Bound")
}

func TestAClaimWhoseVolumeIsGoneIsLost(t *testing.T) {
	l := newLedger("")
	l.Volumes, l.Claims = []*corev1.PersistentVolume{volume("a", "1Gi")}, []*corev1.PersistentVolumeClaim{claim("data", "1Gi")}
	l.settle(t)
	l.Volumes = nil
	l.settle(t)
	if got := l.show(); got != "data Lost a" || l.Pending(l.Claims[0], nil) != `PersistentVolume "a" is gone` {
		t.Errorf("got %s: %s", got, l.Pending(l.Claims[0], nil))
	}
}

func TestAVolumeWhoseClaimHasLostItsRecordKeepsItsFiles(t *testing.T) {
	l := newLedger("/node/volumes")
	l.Claims = []*corev1.PersistentVolumeClaim{claim("data", "1Gi")}
	l.settle(t)
	lost := l.Claims
	l.Claims = nil // as a start leaves it that finds the record damaged
	l.settle(t)
	if got, want := l.show(), "pvc-c-data Released"; got != want {
		t.Errorf("got %s, want %s and nothing removed", got, want)
	}
	l.Claims = lost
	l.settle(t)
	if got, want := l.show(), "data Bound pvc-c-data; pvc-c-data Bound"; got != want {
		t.Errorf("with its record back: got %s, want %s", got, want)
	}
}

func TestAVolumeOfTheNodeGrowsWithItsClaim(t *testing.T) {
	l := newLedger("/node/volumes")
	l.Claims = []*corev1.PersistentVolumeClaim{claim("data", "1Gi")}
	l.settle(t)
	l.Claims[0] = l.Claims[0].DeepCopy()
	l.Claims[0].Spec.Resources.Requests["storage"] = resource.MustParse("3Gi")
	l.settle(t)
	if v, c := l.Volumes[0].Spec.Capacity.Storage().String(), l.Claims[0].Status.Capacity.Storage().String(); v != "3Gi" || c != "3Gi" {
		t.Errorf("the volume has %s and the claim %s, want 3Gi", v, c)
	}
}

func TestPodsHaveClaimsOfTheirOwn(t *testing.T) {
	l := newLedger("/node/volumes")
	pod := func(uid types.UID) *corev1.Pod {
		p := user("web", "")
		p.UID = uid
		p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"of": "web"}}, Spec: claim("", "1Gi").Spec,
			},
		}}
		return p
	}
	first := pod("p1")
	l.Pods = []*corev1.Pod{first}
	l.settle(t)
	if got := l.show(); got != "web-v Bound pvc-uid-1; pvc-uid-1 Bound" || l.Claims[0].Labels["of"] != "web" || CheckOwner(l.Claims[0], first) != nil {
		t.Errorf("got %s, %v", got, l.Claims[0])
	}
	// The next pod of the name gets nothing that the first has had.
	second := pod("p2")
	l.Pods = []*corev1.Pod{second}
	l.settle(t)
	if got := l.show(); !strings.HasPrefix(got, "web-v Bound pvc-uid-3") || !strings.HasSuffix(got, "pvc-uid-1 Released doomed; pvc-uid-3 Bound") {
		t.Errorf("got %s", got)
	}
	if err := CheckOwner(l.Claims[0], first); err == nil {
		t.Error("the claim of the second is taken for the first's")
	}
	l.Pods = nil
	l.settle(t)
	if got := l.show(); got != "pvc-uid-1 Released doomed; pvc-uid-3 Released doomed" {
		t.Errorf("got %s", got)
	}
}
