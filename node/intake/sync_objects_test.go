package intake

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/storage"
	"nodal/node/store"
)

func words(name, value string) *node.Object {
	made := &corev1.ConfigMap{Data: map[string]string{"a": value}}
	made.Namespace, made.Name = "default", name
	return node.NewObject(made)
}

// told names what there is of ConfigMaps, with values and origins.
func (b *bench) told() []string {
	var told []string
	objects, _ := b.in.Store.Objects(node.ConfigMap)
	for _, o := range objects {
		told = append(told, fmt.Sprintf("%s=%s of %s %s", o.Meta().Name, o.ConfigMap().Data["a"], o.Owner(), o.Origin))
	}
	return told
}

func TestSyncOfObjects(t *testing.T) {
	from := func(origin, name, value string) Delivery { return Delivery{Object: words(name, value), Origin: origin} }
	type deliveries []Delivery
	cases := []struct {
		name    string
		before  deliveries
		after   deliveries
		keep    []string
		errors  []string // "origin: kind"
		objects []string
	}{
		{"what is delivered comes", nil,
			deliveries{from("f1", "a", "1"), from("f2", "b", "2")}, nil, nil, []string{"a=1 of file f1", "b=2 of file f2"}},
		{"what is delivered anew changes",
			deliveries{from("f1", "a", "1")}, deliveries{from("f1", "a", "2")}, nil, nil, []string{"a=2 of file f1"}},
		{"what is no longer delivered goes",
			deliveries{from("f1", "a", "1"), from("f1", "b", "2")}, deliveries{from("f1", "a", "1")}, nil, nil, []string{"a=1 of file f1"}},
		{"what could not be read stays",
			deliveries{from("f1", "a", "1"), from("f2", "b", "2")}, nil, []string{"f1"}, nil, []string{"a=1 of file f1"}},
		{"the first of two new origins has the name", nil,
			deliveries{from("f1", "a", "1"), from("f2", "a", "2")}, nil, []string{"f2: conflict"}, []string{"a=1 of file f1"}},
		{"the origin that has the name keeps it",
			deliveries{from("f2", "a", "2")},
			deliveries{from("f1", "a", "1"), from("f2", "a", "2")}, nil, []string{"f1: conflict"}, []string{"a=2 of file f2"}},
		{"the origin that has the name keeps it unread",
			deliveries{from("f2", "a", "2")},
			deliveries{from("f1", "a", "1")}, []string{"f2"}, []string{"f1: conflict"}, []string{"a=2 of file f2"}},
		{"an object that has moved belongs to its new place",
			deliveries{from("f2", "a", "1")}, deliveries{from("f1", "a", "1")}, nil, nil, []string{"a=1 of file f1"}},
		{"a posted object is not taken over, and others are taken", nil,
			deliveries{from("f1", "posted", "1"), from("f2", "a", "2")}, nil, []string{"f1: conflict"}, []string{"a=2 of file f2"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			file := b.as(node.SourceFile)
			file.in.Sync(c.before, nil, b.now)
			if _, _, err := b.in.Apply([]Delivery{{Object: words("posted", "0")}}, b.now); err != nil {
				t.Fatal(err)
			}
			keep := map[string]bool{}
			for _, origin := range c.keep {
				keep[origin] = true
			}
			var problems []string
			for origin, err := range file.in.Sync(c.after, keep, b.now) {
				problems = append(problems, origin+": "+kind(err))
			}
			if !slices.Equal(problems, c.errors) {
				t.Errorf("errors = %q, want %q", problems, c.errors)
			}
			if got, want := b.told(), append(c.objects, "posted=0 of api "); !slices.Equal(got, want) {
				t.Errorf("objects = %q, want %q", got, want)
			}
		})
	}
}

func TestSyncTakesObjectsBeforeThePodsThatNeedThem(t *testing.T) {
	b := newBench(t)
	file := b.as(node.SourceFile)
	class := &nodev1.RuntimeClass{Handler: "runc"}
	class.Name = "plain"
	classed := pod("web", "a:1", func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("plain") })
	wrong := file.in.Sync([]Delivery{{Pod: classed, Origin: "a"}, {Object: node.NewObject(class), Origin: "b"}}, nil, b.now)
	if got, want := b.slot(web), "u2 a:1"; got != want || len(wrong) > 0 {
		t.Errorf("pod = %s, errors = %v; want %s, none", got, wrong, want)
	}
}

func TestTheSameDeliveryOfAnObjectWritesNothing(t *testing.T) {
	b := newBench(t)
	file := b.as(node.SourceFile)
	for range 2 {
		file.in.Sync([]Delivery{{Object: words("a", "1"), Origin: "f"}}, nil, b.now)
	}
	if got, want := b.in.Store.Revision(), int64(1); got != want {
		t.Errorf("revision = %d, want %d", got, want)
	}
}

// An object of a file is the file's: the API says where to change it.
func TestObjectsOfFilesAreNotChangedOverTheAPI(t *testing.T) {
	for name, ask := range map[string]func(*bench) error{
		"apply": func(b *bench) error {
			_, _, err := b.in.Apply([]Delivery{{Object: words("a", "2")}}, b.now)
			return err
		},
		"apply of the same": func(b *bench) error {
			_, _, err := b.in.Apply([]Delivery{{Object: words("a", "1")}}, b.now)
			return err
		},
		"plan": func(b *bench) error {
			_, err := b.in.Plan([]Delivery{{Object: words("a", "2")}}, b.now)
			return err
		},
		"delete": func(b *bench) error { return b.in.DeleteObject(words("a", "1").Ref(), b.now) },
		"delete of a bundle": func(b *bench) error {
			_, _, err := b.in.DeleteAll(nil, []node.ObjectRef{words("a", "1").Ref()}, nil, nil, b.now)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.as(node.SourceFile).in.Sync([]Delivery{{Object: words("a", "1"), Origin: "/etc/pods/a.yaml"}}, nil, b.now)
			err := ask(b)
			if !errors.Is(err, node.ErrConflict) || !strings.Contains(err.Error(), "change or remove it in /etc/pods/a.yaml") {
				t.Errorf("error = %v, want a conflict that names the file", err)
			}
			if got, want := b.told(), []string{"a=1 of file /etc/pods/a.yaml"}; !slices.Equal(got, want) {
				t.Errorf("objects = %q, want %q", got, want)
			}
		})
	}
}

func TestObjectsOfASourceThatIsNoLongerConfiguredAreFree(t *testing.T) {
	b := newBench(t)
	b.as(node.SourceFile).in.Sync([]Delivery{{Object: words("a", "1"), Origin: "f"}, {Object: words("b", "1"), Origin: "f"}}, nil, b.now)
	b.in.Sources = map[node.Source]string{node.SourceAPI: "the node API"}
	if _, _, err := b.in.Apply([]Delivery{{Object: words("a", "2")}}, b.now); err != nil {
		t.Error(err)
	}
	if err := b.in.DeleteObject(words("b", "1").Ref(), b.now); err != nil {
		t.Error(err)
	}
	if got, want := b.told(), []string{"a=2 of api "}; !slices.Equal(got, want) {
		t.Errorf("objects = %q, want %q", got, want)
	}
}

// A node that joins a cluster keeps what files have brought before, so that no claim loses its data, and takes no more.
func TestAMemberOfAClusterTakesNoObjectsOfFiles(t *testing.T) {
	b := newBench(t)
	file := b.as(node.SourceFile)
	file.in.Sync([]Delivery{{Object: words("a", "1"), Origin: "f"}}, nil, b.now)
	file.in.Sources = map[node.Source]string{node.SourceFile: "f", node.SourceCluster: "the cluster"}
	wrong := file.in.Sync([]Delivery{
		{Object: words("a", "2"), Origin: "f"}, {Object: words("b", "1"), Origin: "g"}, {Pod: pod("web", "a:1"), Origin: "g"},
	}, nil, b.now)
	for _, origin := range []string{"f", "g"} {
		if err := wrong[origin]; !errors.Is(err, node.ErrInvalid) || !strings.Contains(err.Error(), "kind: is ConfigMap, but a node of a cluster") {
			t.Errorf("%s: error = %v, want the kind refused", origin, err)
		}
	}
	if got, want := b.told(), []string{"a=1 of file f"}; !slices.Equal(got, want) {
		t.Errorf("objects = %q, want %q", got, want)
	}
	if got, want := b.slot(web), "u2 a:1"; got != want {
		t.Errorf("pod = %s, want %s", got, want)
	}
	file.in.Sync(nil, nil, b.now)
	if got := b.told(); len(got) > 0 {
		t.Errorf("objects = %q, want none once their file is gone", got)
	}
}

// The claim that its pod uses is deleted once it no longer does, and the node's own changes leave it with its file.
func TestAClaimOfAFileIsPrunedLikeADeletedOne(t *testing.T) {
	b := newBench(t)
	b.in.Storage = storage.Keeper{Dir: "/volumes", NewUID: b.in.NewUID}
	file := b.as(node.SourceFile)
	file.in.Sync([]Delivery{{Object: newClaim(), Origin: "f"}, {Pod: pod("web", "a:1", claiming), Origin: "g"}}, nil, b.now)
	held, _ := b.in.Store.Object(dataClaim)
	if held.Claim().Status.Phase == "" || held.Origin != "f" {
		t.Fatalf("the claim is %q of %q, want it settled and of its file", held.Claim().Status.Phase, held.Origin)
	}
	for range 2 {
		file.in.Sync([]Delivery{{Pod: pod("web", "a:1", claiming), Origin: "g"}}, nil, b.now)
		if held, _ = b.in.Store.Object(dataClaim); held == nil || held.Claim().DeletionTimestamp == nil {
			t.Fatalf("the claim is %v, want it kept with its deletion begun", held)
		}
	}
	wrong := file.in.Sync([]Delivery{{Object: newClaim(), Origin: "f"}}, nil, b.now)
	if !errors.Is(wrong["f"], node.ErrConflict) {
		t.Errorf("error = %v, want a conflict while the claim is being deleted", wrong["f"])
	}
}

// With a claim goes its data, and its file may be away for a moment.
func TestAClaimThatIsMissingStaysForAWhile(t *testing.T) {
	b := newBench(t)
	b.in.Storage = storage.Keeper{Dir: "/volumes", NewUID: b.in.NewUID}
	file := b.as(node.SourceFile)
	file.in.Missing = &Missing{}
	sync := func(after time.Duration, deliveries ...Delivery) error {
		return file.in.Sync(deliveries, nil, b.now.Add(after))["f"]
	}
	gone := func() bool { return b.claim() == "gone" || b.claim() == "held" }
	there := Delivery{Object: newClaim(), Origin: "f"}
	if err := sync(0, there); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{time.Second, ClaimsStay} {
		if err := sync(after); !errors.Is(err, node.ErrConflict) || gone() {
			t.Errorf("after %s the claim is %s, and the error is %v; want it there, and when it goes", after, b.claim(), err)
		}
	}
	if err := sync(ClaimsStay, there); err != nil || gone() {
		t.Errorf("the claim is %s once its file is back, error %v", b.claim(), err)
	}
	if err := sync(ClaimsStay + time.Second); err == nil || gone() {
		t.Errorf("the claim is %s when it is missing again, error %v; want another while", b.claim(), err)
	}
	if err := sync(2*ClaimsStay + time.Second); err != nil || !gone() {
		t.Errorf("the claim is %s after that, error %v; want it to go", b.claim(), err)
	}
}

// Once a volume begins to go, its file cannot bring it back while a claim is bound to it.
func TestAVolumeThatIsMissingStaysForAWhile(t *testing.T) {
	b := newBench(t)
	b.in.Storage = storage.Keeper{Dir: "/volumes", NewUID: b.in.NewUID}
	file := b.as(node.SourceFile)
	file.in.Missing = &Missing{}
	made := &corev1.PersistentVolume{}
	made.Name = "disk"
	made.Spec.Capacity = corev1.ResourceList{"storage": resource.MustParse("1Gi")}
	made.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	made.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	made.Spec.Local = &corev1.LocalVolumeSource{Path: "/disks/a"}
	claim := newClaim()
	claim.Claim().Spec.VolumeName, claim.Claim().Spec.StorageClassName = "disk", new("")
	claim.Claim().Spec.AccessModes = made.Spec.AccessModes
	disk, data := Delivery{Object: node.NewObject(made), Origin: "f"}, Delivery{Object: claim, Origin: "g"}
	sync := func(after time.Duration, deliveries ...Delivery) error {
		return file.in.Sync(deliveries, nil, b.now.Add(after))["f"]
	}
	if err := sync(0, disk, data); err != nil || b.claim() != "Bound" {
		t.Fatalf("the claim is %s, error %v; want it bound", b.claim(), err)
	}
	if err := sync(time.Second, data); !errors.Is(err, node.ErrConflict) || strings.Contains(err.Error(), "with its data") {
		t.Errorf("error = %v, want when the volume goes, and nothing of its data", err)
	}
	if err := sync(2*time.Second, disk, data); err != nil {
		t.Errorf("error = %v once the file of the volume is back", err)
	}
	err := errors.Join(sync(3*time.Second, data), sync(3*time.Second+ClaimsStay, data))
	if held, _ := b.in.Store.Object(disk.Object.Ref()); held == nil || held.Meta().DeletionTimestamp == nil {
		t.Errorf("the volume is %v after that time, error %v; want it to go", held, err)
	}
}

// A file that was renamed and broken in one step may hold the claim that the old name no longer has.
func TestAClaimThatIsMissingStaysWhileAFileIsBroken(t *testing.T) {
	b := newBench(t)
	b.in.Storage = storage.Keeper{Dir: "/volumes", NewUID: b.in.NewUID}
	file := b.as(node.SourceFile)
	file.in.Missing = &Missing{}
	file.in.Sync([]Delivery{{Object: newClaim(), Origin: "f"}}, nil, b.now)
	for _, step := range []struct {
		name  string
		after time.Duration
		keep  map[string]bool
		says  string // nothing if it is not told of
	}{
		{"it is missing", 0, nil, "goes with its data at"},
		{"another file is broken", time.Second, map[string]bool{"g": true}, "stays while"},
		{"the other is broken for long", 2 * ClaimsStay, map[string]bool{"g": true}, "stays while"},
		{"its own file is broken", 3 * ClaimsStay, map[string]bool{"f": true}, ""},
		{"no file is broken", 4 * ClaimsStay, nil, "goes with its data at"},
	} {
		got := file.in.Sync(nil, step.keep, b.now.Add(step.after))["f"]
		if (got == nil) != (step.says == "") || got != nil && !strings.Contains(got.Error(), step.says) {
			t.Errorf("%s: error = %v, want %q", step.name, got, step.says)
		}
		if b.claim() == "gone" || b.claim() == "held" {
			t.Errorf("%s: the claim is %s", step.name, b.claim())
		}
	}
	if file.in.Sync(nil, nil, b.now.Add(5*ClaimsStay)); b.claim() != "gone" {
		t.Errorf("the claim is %s in the end, want it gone", b.claim())
	}
}

// Of what cannot be read it is not known whose it is.
func TestALockedObjectIsNotPrunedAndLeavesTheSyncUnsure(t *testing.T) {
	b := newBench(t)
	file := b.as(node.SourceFile)
	away := errors.New("the key is away")
	b.in.Store.Lock([]store.Locked{{Name: "objects/Secret/default_keys", Err: away}})
	file.in.Sync(nil, nil, b.now)
	ref := node.ObjectRef{Kind: node.Secret, Namespace: "default", Name: "keys"}
	if _, there := b.in.Store.Object(ref); !there || !file.in.Unsure() {
		t.Errorf("there: %t, unsure: %t; want both", there, file.in.Unsure())
	}
	b.in.Store.Lock([]store.Locked{{Name: "objects/Secret/default_keys", Err: node.ErrLost}})
	if file.in.Unsure() {
		t.Error("unsure of what is lost for ever")
	}
}
