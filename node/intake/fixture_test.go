package intake

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/manifest"
	"nodal/node/offer"
	"nodal/node/store"
)

// memory is a journal without a disk.
type memory struct{ full bool }

var _ store.Journal = (*memory)(nil)

func (m *memory) Commit(...store.Record) error {
	if m.full {
		return fmt.Errorf("write record: %w", node.ErrNoSpace)
	}
	return nil
}

func (m *memory) CommitReserved(...store.Record) error { return nil }

// bench is a store with hands: each method does one thing and says in a word
// how it went.
type bench struct {
	t       *testing.T
	journal *memory
	in      Intake
	offer   offer.Offer // of the node, as in reads it
	now     time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	journal := &memory{}
	clock, err := store.OpenClock(journal, nil)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	b := &bench{t: t, journal: journal, now: time.Unix(1_000_000, 0), offer: offer.Offer{Node: admit.Node{Name: "n1"}}}
	b.in = Intake{
		Store: store.New(journal, clock), Source: node.SourceAPI, Offer: func() offer.Offer { return b.offer },
		NewUID: func() types.UID { made++; return types.UID(fmt.Sprintf("u%d", made)) },
	}
	return b
}

var web = node.Key{Namespace: "default", Name: "web"}

// pod is a manifest with a name, an image and whatever changes it further.
func pod(name, image string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name = name
	pod.Spec.Containers = []corev1.Container{{Name: "app", Image: image}}
	for _, change := range changes {
		change(pod)
	}
	manifest.Default(pod)
	return pod
}

func command(words ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Command = words }
}

func label(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{"l": value} }
}

func uid(uid types.UID) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.UID = uid }
}

func (b *bench) apply(pods ...*corev1.Pod) string {
	deliveries := make([]Delivery, len(pods))
	for i, p := range pods {
		deliveries[i] = Delivery{Pod: p, Document: i}
	}
	outcomes, _, err := b.in.Apply(deliveries, b.now)
	return b.tell(outcomes, err)
}

func (b *bench) plan(p *corev1.Pod) string {
	outcomes, err := b.in.Plan([]Delivery{{Pod: p}}, b.now)
	return "would be " + b.tell(outcomes, err)
}

func (b *bench) tell(outcomes []Outcome, err error) string {
	if err != nil {
		return kind(err)
	}
	var words []string
	for _, o := range outcomes {
		word := o.Verdict.String()
		if len(o.Restarts) > 0 {
			word += fmt.Sprint(o.Restarts)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func kind(err error) string {
	for _, kind := range []error{node.ErrInvalid, node.ErrConflict, node.ErrNotFound, node.ErrNoSpace} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return fmt.Sprint(err)
}

// delete asks with a grace period, or with the pod's own when it is negative.
func (b *bench) delete(uid types.UID, grace time.Duration) string {
	r := DeleteRequest{Key: web, UID: uid}
	if grace >= 0 {
		r.Grace = &grace
	}
	_, err := b.in.Delete(r, b.now)
	return kind(err)
}

// as is the same node through another source.
func (b *bench) as(source node.Source) *bench {
	other := *b
	other.in.Source = source
	return &other
}

// beside adds a container, and has none run again that has succeeded.
func beside(p *corev1.Pod) {
	p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "side", Image: "s:1"})
}

// served has a pod run once, with a sidecar that ends after it.
func served(p *corev1.Pod) {
	asks("1")(p)
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	p.Spec.InitContainers = []corev1.Container{{Name: "proxy", Image: "p:1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
}

// winds shows that web's application has ended, and that its sidecar has yet to.
func (b *bench) winds() {
	b.in.Store.Observe(web, &node.Observed{Containers: []node.Container{
		{UID: "u1", Name: "proxy", State: node.ContainerRunning},
		{UID: "u1", Name: "app", State: node.ContainerExited, Inspected: true},
	}})
}

// runs shows a run of web's first container; others have none.
func (b *bench) runs(state node.ContainerState) {
	b.in.Store.Observe(web, &node.Observed{Containers: []node.Container{{UID: "u1", Name: "app", Attempt: 3, State: state, Inspected: true}}})
}

func (b *bench) wait(d time.Duration) { b.now = b.now.Add(d) }

// settle gives web a final result.
func (b *bench) settle() {
	b.put(func(slot *node.Slot) { slot.Result = &corev1.PodStatus{Phase: corev1.PodSucceeded} })
}

// doom has the pod end within a time, before its containers do.
func (b *bench) doom(grace time.Duration) {
	b.put(func(slot *node.Slot) {
		slot.Termination = &node.Termination{Requested: b.now, Reason: "DeadlineExceeded", Grace: grace}
	})
}

func (b *bench) put(change func(*node.Slot)) {
	b.t.Helper()
	if _, err := b.in.Store.Transact(func(tx *store.Tx) error {
		slot := *tx.Get(web)
		change(&slot)
		tx.Put(web, &slot)
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
}

// slot names the pod that owns the name and the one that waits for it.
func (b *bench) slot(key node.Key) string {
	view, ok := b.in.Store.View(key)
	if !ok {
		return "free"
	}
	told := tellPod(view.Slot.Pod)
	if view.Slot.Next != nil {
		told += ", then " + tellPod(view.Slot.Next)
	}
	return told
}

func tellPod(p *node.Pod) string {
	told := fmt.Sprintf("%s %s", p.UID(), p.Object.Spec.Containers[0].Image)
	if p.Object.Generation > 1 {
		told += fmt.Sprintf(" generation %d", p.Object.Generation)
	}
	if p.Deletion != nil {
		told += fmt.Sprintf(" until %d (%s)", p.Deletion.Deadline().Unix()-1_000_000, p.Deletion.Reason)
	}
	return told
}
