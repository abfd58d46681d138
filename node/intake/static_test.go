package intake

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/node/store"
)

// static is a pod of a file without a UID, from which this kubelet derives one, and others another.
func static(image string, derived types.UID, aliases ...types.UID) Delivery {
	return Delivery{
		Pod: pod("web", image, uid(derived), func(p *corev1.Pod) {
			p.Annotations = map[string]string{manifest.AnnotationHash: string(derived)}
		}),
		Origin: "f", Aliases: aliases,
	}
}

func TestAStaticPodKeepsTheUIDUnderWhichItIsKnown(t *testing.T) {
	delivered := static("a:1", "derived", "other", "third")
	for _, c := range []struct {
		name   string
		before *Delivery
		runs   []types.UID
		after  Delivery
		want   string
	}{
		{"nothing is known", nil, nil, delivered, "derived a:1"},
		{"another kubelet's runs", nil, []types.UID{"other"}, delivered, "other a:1"},
		{"a pod of other content runs", nil, []types.UID{"stranger"}, delivered, "derived a:1"},
		{"its own and another kubelet's run", nil, []types.UID{"other", "derived"}, delivered, "derived a:1"},
		{"an earlier version has recorded it", new(static("a:1", "other")), nil, delivered, "other a:1"},
		{"an earlier version's runs", new(static("a:1", "other")), []types.UID{"other"}, delivered, "other a:1"},
		{"an earlier version's and another kubelet's run", new(static("a:1", "other")), []types.UID{"third", "other"}, delivered, "other a:1"},
		{"another kubelet has made the recorded one anew", new(static("a:1", "other")), []types.UID{"derived"}, delivered,
			"other a:1 until 30 (replaced), then derived a:1"},
		{"the file has changed", new(static("a:0", "old")), []types.UID{"old"}, delivered,
			"old a:0 until 30 (replaced), then derived a:1"},
		{"its author has given it one", nil, []types.UID{"other"}, static("a:1", "given"), "given a:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t).as(node.SourceFile)
			if c.before != nil {
				b.sync(*c.before)
			}
			b.saw(c.runs...)
			b.sync(c.after)
			if got := b.slot(web); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			view, _ := b.in.Store.View(web)
			if object := heir(view.Slot).Object; object.Annotations[manifest.AnnotationHash] != string(object.UID) {
				t.Errorf("got the hash %q of pod %q", object.Annotations[manifest.AnnotationHash], object.UID)
			}
			before := b.in.Store.Revision()
			b.sync(c.after)
			if b.in.Store.Revision() != before {
				t.Error("the second delivery has changed something")
			}
		})
	}
}

// A pod that ends is not taken up again under its UID.
func TestAStaticPodThatIsBackIsAnother(t *testing.T) {
	b := newBench(t).as(node.SourceFile)
	b.saw("other")
	b.sync(static("a:1", "derived", "other"))
	b.sync()
	b.sync(static("a:1", "derived", "other"))
	if got, want := b.slot(web), "other a:1 until 30 (removed from its source), then derived a:1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// saw shows that pods run under the name web, since a minute.
func (b *bench) saw(uids ...types.UID) {
	running := map[types.UID]time.Time{}
	for _, uid := range uids {
		running[uid] = b.now.Add(-time.Minute)
	}
	b.in.Store.Saw(store.Running{web: running})
}

func (b *bench) sync(deliveries ...Delivery) {
	b.t.Helper()
	for origin, err := range b.in.Sync(slices.Clone(deliveries), nil, b.now) {
		b.t.Fatalf("%s: %s", origin, err)
	}
}
