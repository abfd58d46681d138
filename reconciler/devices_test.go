package reconciler_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/offer"
	"nodal/reconciler"
)

const gpu corev1.ResourceName = "example.com/gpu"

// gadgets are the plugin of a resource with two devices.
type gadgets struct {
	mu    sync.Mutex
	fails error
	heard []string
	wish  []string      // that it prefers; it is not asked without one
	meets chan struct{} // not nil: the wish comes once this is closed
}

func (g *gadgets) Prefers(corev1.ResourceName) bool { return g.wish != nil }

func (g *gadgets) Prefer(_ context.Context, c assign.Choice) ([]string, error) {
	g.mu.Lock()
	g.heard = append(g.heard, "prefer of "+strings.Join(c.Available, "+"))
	g.mu.Unlock()
	if g.meets != nil {
		<-g.meets
	}
	return g.wish, g.fails
}

var _ reconciler.Devices = (*gadgets)(nil)

func (g *gadgets) Allocate(_ context.Context, resource corev1.ResourceName, ids []string) (node.Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = append(g.heard, "allocate "+strings.Join(ids, "+"))
	return node.Grant{Env: map[string]string{"GPU": strings.Join(ids, "+")}, PreStart: []corev1.ResourceName{resource}}, g.fails
}

func (g *gadgets) PreStart(_ context.Context, _ corev1.ResourceName, ids []string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = append(g.heard, "prestart "+strings.Join(ids, "+"))
	return g.fails
}

// asked returns what the plugin has heard since.
func (g *gadgets) asked() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	heard := g.heard
	g.heard = nil
	return strings.Join(heard, ", ")
}

func (g *gadgets) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fails = err
}

func TestDevicesAreReadyBeforeEachRun(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.stop()
		g := &gadgets{fails: errors.New("broken")}
		b.devices = g
		b.start()
		list := func(devices ...node.Device) {
			b.offers.Post(offer.Offer{
				Node: admit.Node{Assigned: map[corev1.ResourceName]bool{gpu: true}}, Assign: &assign.Rules{Devices: assign.Devices{gpu: devices}},
			})
		}
		list(node.Device{ID: "a", Healthy: true}, node.Device{ID: "b", Healthy: true})
		b.intake.Offer = b.offers.Read
		web := pod("web")
		web.Spec.Containers[0].Resources.Limits = corev1.ResourceList{gpu: resource.MustParse("1")}
		b.apply(web)
		b.rest(500 * time.Millisecond)
		waiting := b.status("web").ContainerStatuses[0].State.Waiting
		if got := g.asked(); got != "allocate a" || waiting == nil || waiting.Reason != "CreateContainerConfigError" || !strings.Contains(waiting.Message, "broken") {
			t.Errorf("with a broken plugin it heard %q, and the container waits with %+v", got, waiting)
		}
		g.fail(nil)
		b.rest(30 * time.Second)
		if got := g.asked(); !strings.HasSuffix(got, "allocate a, prestart a") || b.status("web").Phase != corev1.PodRunning {
			t.Errorf("with a sound plugin it heard %q, and the pod is %s", got, b.status("web").Phase)
		}
		v, _ := b.store.View(key("web"))
		if grant := v.Slot.Pod.Grants["main"]; grant.Env["GPU"] != "a" || grant.Sandbox == "" {
			t.Errorf("the record has the grant %+v", grant)
		}

		revision := b.store.Revision()
		for _, c := range []struct {
			want    corev1.ResourceHealthStatus
			devices []node.Device
		}{
			{"Healthy", []node.Device{{ID: "a", Healthy: true}}}, {"Unhealthy", []node.Device{{ID: "a"}}}, {"Unknown", nil},
		} {
			list(c.devices...)
			b.rest(time.Second)
			shown := b.status("web").ContainerStatuses[0].AllocatedResourcesStatus
			if len(shown) != 1 || shown[0].Name != gpu || shown[0].Resources[0].ResourceID != "a" || shown[0].Resources[0].Health != c.want {
				t.Errorf("its devices are shown as %+v, want %s", shown, c.want)
			}
		}
		if b.store.Revision() == revision {
			t.Error("no watch is told of the health of devices")
		}

		b.stop()
		b.start()
		b.rest(time.Minute)
		if got := g.asked(); got != "" || b.status("web").Phase != corev1.PodRunning {
			t.Errorf("the next agent asks for %q, and the pod is %s", got, b.status("web").Phase)
		}
	})
}

func TestAPluginChoosesDevicesBeforeTheyAreGranted(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.stop()
		g := &gadgets{wish: []string{"c"}, meets: make(chan struct{})}
		b.devices = g
		b.start()
		var list []node.Device
		for _, id := range []string{"a", "b", "c"} {
			list = append(list, node.Device{ID: id, Healthy: true})
		}
		b.offers.Post(offer.Offer{
			Node: admit.Node{Assigned: map[corev1.ResourceName]bool{gpu: true}}, Assign: &assign.Rules{Devices: assign.Devices{gpu: list}},
		})
		b.intake.Offer = b.offers.Read
		for _, name := range []string{"web", "late"} {
			p := pod(name)
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{gpu: resource.MustParse("1")}
			b.apply(p)
		}
		other := pod("other")
		b.apply(other)
		b.rest(500 * time.Millisecond)
		if got := b.status("other").Phase; got != corev1.PodRunning {
			t.Errorf("while the plugin thinks about others, a pod without devices is %s", got)
		}
		close(g.meets)
		b.rest(10 * time.Second)
		held := map[string]string{}
		for _, name := range []string{"web", "late"} {
			v, _ := b.store.View(key(name))
			id := strings.Join(v.Slot.Pod.Shares["main"].Devices[gpu], "+")
			held[id] = name
			if granted := v.Slot.Pod.Grants["main"].Env["GPU"]; granted != id || b.status(name).Phase != corev1.PodRunning {
				t.Errorf("%s has %s, was granted %s, and is %s", name, id, granted, b.status(name).Phase)
			}
		}
		if len(held) != 2 || held["c"] == "" {
			t.Errorf("of two pods that wait for a plugin which prefers c they have %v, want one of them to have c", held)
		}
		if got := strings.Count(g.asked(), "prefer of"); got != 2 {
			t.Errorf("the plugin was asked %d times, want once for each pod", got)
		}
	})
}
