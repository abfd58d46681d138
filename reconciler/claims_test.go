package reconciler_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/reconciler"
)

// tools is a driver of claims.
type tools struct {
	mu    sync.Mutex
	away  bool
	fails error // what it does has its effect
	heard []string
}

var _ reconciler.ClaimDrivers = (*tools)(nil)

func (g *tools) Find(driver string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away {
		return errors.New("DRA driver " + driver + " is not registered")
	}
	return nil
}

func (g *tools) Hold(context.Context, string, []node.ClaimRef) (func(), error) { return func() {}, nil }

func (g *tools) hear(verb string, claims []node.ClaimRef) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range claims {
		verb += " " + c.Namespace + "/" + c.Name + "/" + string(c.UID)
	}
	g.heard = append(g.heard, verb)
	return g.fails
}

func (g *tools) Prepare(_ context.Context, _ string, claims []node.ClaimRef) (map[types.UID][]node.PreparedDevice, error) {
	answers := map[types.UID][]node.PreparedDevice{}
	for _, c := range claims {
		answers[c.UID] = []node.PreparedDevice{{CDI: []string{"v/c=" + c.Name}}}
	}
	return answers, g.hear("prepare", claims)
}

func (g *tools) Unprepare(_ context.Context, _ string, claims []node.ClaimRef) error {
	return g.hear("unprepare", claims)
}

func (g *tools) Handled(string, error, time.Duration) {}

// set changes what the driver does, and asked returns what it has heard since.
func (g *tools) set(away bool, fails error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.away, g.fails = away, fails
}

func (g *tools) asked() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	heard := g.heard
	g.heard = nil
	return strings.Join(heard, ", ")
}

// claiming has a pod use claims.
func claiming(t *testing.T, p *corev1.Pod, names ...string) *corev1.Pod {
	var claims []node.DeviceClaim
	for _, c := range names {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: c, ResourceClaimName: &c})
		claims = append(claims, node.DeviceClaim{Name: c, Claim: c, UID: types.UID("u-" + c), Devices: []node.AllocatedDevice{{Driver: "tool"}}})
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	p.Annotations = map[string]string{node.AnnotationClaims: string(text)}
	return p
}

// held returns for each claim of a pod what its record says of the driver.
func (b *bench) held(name string) string {
	var words []string
	v, _ := b.store.View(key(name))
	for _, c := range v.Slot.Pod.Claims {
		done, asked := c.Drivers["tool"]
		switch {
		case done.Done:
			words = append(words, c.Name+" "+done.Devices[0].CDI[0])
		case asked:
			words = append(words, c.Name+" asked")
		}
	}
	return strings.Join(words, ", ")
}

func (b *bench) wantForgotten(name string) {
	b.Helper()
	if v, ok := b.store.View(key(name)); ok {
		b.Errorf("pod %s is there still: %+v", name, v.Slot.Pod.Claims)
	}
}

func TestPodsShareWhatADriverHasPrepared(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.stop()
		g := &tools{}
		b.drivers = g
		b.start()
		b.apply(claiming(t, pod("web"), "a", "b"))
		b.rest(10 * time.Second)
		if got, held := g.asked(), b.held("web"); got != "prepare default/a/u-a default/b/u-b" || held != "a v/c=a, b v/c=b" || b.status("web").Phase != corev1.PodRunning {
			t.Errorf("the driver heard %q, the record has %q, and the pod is %s", got, held, b.status("web").Phase)
		}
		b.apply(claiming(t, pod("db"), "b"))
		b.rest(10 * time.Second)
		if got, held := g.asked(), b.held("db"); got != "" || held != "b v/c=b" {
			t.Errorf("for another pod the driver heard %q, and the record has %q", got, held)
		}
		b.delete("web", time.Second)
		b.rest(10 * time.Second)
		if got := g.asked(); got != "unprepare default/a/u-a" {
			t.Errorf("after the first pod the driver heard %q", got)
		}
		b.wantForgotten("web")
		g.set(false, errors.New("late"))
		b.delete("db", time.Second)
		b.rest(1500 * time.Millisecond)
		if got, held := g.asked(), b.held("db"); !strings.HasPrefix(got, "unprepare default/b/u-b") || held != "b asked" {
			t.Errorf("while it fails it heard %q, and the record has %q", got, held)
		}
		failed := func(e *node.Event) bool { return e.Reason == node.FailedUnprepareClaims }
		if got := b.reasons(failed); got == "" {
			t.Error("no event tells of it")
		}
		b.apply(claiming(t, pod("late"), "b"))
		g.set(false, nil)
		b.rest(time.Minute)
		b.wantForgotten("db")
		if got, held := g.asked(), b.held("late"); !strings.Contains(got, "prepare default/b/u-b") || held != "b v/c=b" {
			t.Errorf("for a pod that came meanwhile it heard %q, and the record has %q", got, held)
		}
	})
}

func TestAnAnswerStaysInItsNamespace(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.stop()
		g := &tools{}
		b.drivers = g
		b.start()
		b.apply(claiming(t, pod("web"), "a"))
		b.rest(10 * time.Second)
		g.asked()
		guest := claiming(t, pod("web"), "a") // which names the same UID
		guest.Namespace = "other"
		b.apply(guest)
		b.rest(10 * time.Second)
		if got := g.asked(); got != "prepare other/a/u-a" {
			t.Errorf("for a pod of another namespace the driver heard %q, want that it is asked", got)
		}
		b.delete("web", time.Second)
		b.rest(10 * time.Second)
		if got := g.asked(); got != "unprepare default/a/u-a" {
			t.Errorf("after the pod the driver heard %q, want that the other pod keeps nothing of it", got)
		}
	})
}

func TestAPodGoesWithoutADriverThatWasNeverThere(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.stop()
		g := &tools{away: true}
		b.drivers = g
		b.start()
		b.apply(claiming(t, pod("web"), "a"))
		b.rest(10 * time.Second)
		s := b.status("web")
		if held := b.held("web"); held != "" || s.Phase != corev1.PodPending || s.Reason != node.FailedPrepareClaims || !strings.Contains(s.Message, "DRA driver tool is not registered") {
			t.Errorf("the pod is %s, %s: %s; its record has %q", s.Phase, s.Reason, s.Message, held)
		}
		b.delete("web", time.Second)
		b.rest(10 * time.Second)
		b.wantGone("web")
		if got := g.asked(); got != "" {
			t.Errorf("the driver heard %q", got)
		}
	})
}

func TestAPodEndsInItsPhaseAfterItsClaims(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.stop()
		g := &tools{}
		b.drivers = g
		b.start()
		job := claiming(t, pod("job", "exit", "0", "after", "5s"), "a")
		job.Spec.RestartPolicy = corev1.RestartPolicyNever
		b.apply(job)
		b.rest(3 * time.Second)
		g.set(true, errors.New("broken"))
		b.rest(5 * time.Minute)
		if s := b.status("job"); s.Phase != corev1.PodRunning || s.ContainerStatuses[0].State.Terminated == nil {
			t.Errorf("while its claim is prepared a pod that has ended is %s: %+v", s.Phase, s.ContainerStatuses)
		}
		g.set(false, nil)
		b.rest(time.Minute)
		if s := b.status("job"); s.Phase != corev1.PodSucceeded || b.held("job") != "" {
			t.Errorf("after that it is %s, and its record has %q", s.Phase, b.held("job"))
		}
	})
}
