package intake

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/store"
)

// offers has the node offer so many CPUs from now on.
func (b *bench) offers(cpus string) {
	b.offer.Revision++
	b.offer.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}
}

func (b *bench) pod(name string) *node.Pod {
	b.t.Helper()
	view, ok := b.in.Store.View(node.Key{Namespace: "default", Name: name})
	if !ok {
		b.t.Fatalf("there is no pod %s", name)
	}
	return view.Slot.Pod
}

func TestAnOfferThatShrinksRefusesNewPodsAndKeepsThoseThatRun(t *testing.T) {
	b := newBench(t)
	b.offers("2")
	b.apply(pod("first", "a:1", asks("2")))
	b.offers("1")
	b.apply(pod("second", "a:1", asks("1")))
	if refused := b.pod("first").Refused; refused != nil {
		t.Errorf("the pod that ran is refused: %v", *refused)
	}
	refused := b.pod("second").Refused
	if refused == nil || refused.Reason != "OutOfcpu" {
		t.Fatalf("got %v, want the new pod refused for want of CPU", refused)
	}
	b.offers("4")
	if again := b.pod("second").Refused; again == nil {
		t.Error("a pod that has failed runs after all")
	}
	b.apply(pod("third", "a:1", asks("2")))
	if refused := b.pod("third").Refused; refused != nil {
		t.Errorf("got %v, want a pod that fits taken", *refused)
	}
}

func TestAResizeThatWaitsIsTakenWhenTheOfferGrows(t *testing.T) {
	b := newBench(t)
	b.offers("2")
	b.apply(pod("web", "a:1", asks("1")))
	b.apply(pod("other", "a:1", asks("1")))
	b.apply(pod("web", "a:1", asks("2")))
	if resize := b.pod("web").Resize; resize == nil || resize.Reason != corev1.PodReasonDeferred {
		t.Fatalf("got %v, want the resize deferred", resize)
	}
	b.offers("3")
	if _, err := b.in.Store.Transact(func(tx *store.Tx) error {
		b.in.Readmit(tx, b.now)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if resize := b.pod("web").Resize; resize != nil {
		t.Errorf("got %v, want the resize taken", resize)
	}
}

func TestACPUThatIsOfflineIsNotHandedOut(t *testing.T) {
	b := newBench(t)
	online := func(ids ...int) *assign.Rules {
		rules := &assign.Rules{Static: true, Reserved: cpuset.New(0)}
		for _, id := range ids {
			rules.Topology = append(rules.Topology, assign.CPU{ID: id, Core: id})
		}
		return rules
	}
	b.offer.Assign = online(0, 1, 2)
	b.apply(pod("first", "a:1", owns("1")))
	b.offer.Assign = online(0, 2)
	b.apply(pod("second", "a:1", owns("1")), pod("third", "a:1", owns("1")))
	if first, second := b.pod("first").Shares["app"].CPUs, b.pod("second").Shares["app"].CPUs; first != "1" || second != "2" {
		t.Errorf("the first pod has %q and the second %q, want 1 kept and 2 handed out", first, second)
	}
	if refused := b.pod("third").Refused; refused == nil {
		t.Errorf("the third pod has %q, want it refused", b.pod("third").Shares["app"].CPUs)
	}
}
