package intake

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/store"
)

// toldStatus returns what a cluster was told of web's only container.
func (b *bench) toldStatus(id string, ready bool, ago time.Duration) *corev1.PodStatus {
	began := metav1.NewTime(b.now.Add(-time.Hour))
	return &corev1.PodStatus{
		StartTime:  &began,
		Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, LastTransitionTime: metav1.NewTime(b.now.Add(-ago))}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "app", ContainerID: "containerd://" + id, Ready: ready, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}},
		}},
	}
}

func TestAPodOfAnotherKubeletIsAsReadyAsItsClusterWasTold(t *testing.T) {
	b := newBench(t)
	began := b.now.Add(-time.Hour)
	b.saw("u")
	b.posts(Delivery{Pod: pod("web", "a:1", uid("u")), Told: b.toldStatus("run", true, time.Minute)})
	view, _ := b.in.Store.View(web)
	want := node.Health{ID: "run", Hooked: began, Started: began, Ready: true, Since: b.now.Add(-time.Minute)}
	if got := view.Slot.Health["app"]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := view.Slot.Pod.Begun(); !got.Equal(began) {
		t.Errorf("got a pod that began at %s, want %s", got, began)
	}
}

func TestTheLaterWordOnReadinessCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		own  node.Health
		told func(*bench) *corev1.PodStatus
		want string
	}{
		{"this kubelet's", node.Health{ID: "run", Ready: true, Since: time.Unix(1_000_000-60, 0)},
			func(b *bench) *corev1.PodStatus { return b.toldStatus("run", false, time.Hour) }, "ready"},
		{"the other kubelet's", node.Health{ID: "run", Ready: true, Since: time.Unix(1_000_000-3600, 0)},
			func(b *bench) *corev1.PodStatus { return b.toldStatus("run", false, time.Minute) }, "not ready"},
		{"the one on another run", node.Health{ID: "earlier", Ready: true, Since: time.Unix(1_000_000, 0)},
			func(b *bench) *corev1.PodStatus { return b.toldStatus("run", false, time.Minute) }, "not ready"},
		{"this kubelet's, without another", node.Health{ID: "run", Ready: true},
			func(*bench) *corev1.PodStatus { return nil }, "ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.apply(pod("web", "a:1", uid("u")))
			b.put(func(slot *node.Slot) { slot.Health = map[string]node.Health{"app": c.own} })
			delivery := Delivery{Pod: pod("web", "a:1", uid("u")), Told: c.told(b)}
			b.posts(delivery)
			view, _ := b.in.Store.View(web)
			health := view.Slot.Health["app"]
			if got := (node.Health{Ready: health.Ready}).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			b.posts(delivery)
			if again, _ := b.in.Store.View(web); again.Revision != view.Revision {
				t.Error("the second delivery has changed something")
			}
		})
	}
}

func TestAPodThatBeginsHereBeginsNow(t *testing.T) {
	b := newBench(t)
	b.in.Store.Saw(store.Running{})
	b.posts(Delivery{Pod: pod("web", "a:1", uid("u")), Told: b.toldStatus("run", true, 0)})
	if view, _ := b.in.Store.View(web); !view.Slot.Pod.Begun().Equal(b.now) {
		t.Errorf("got a pod that began at %s, want %s", view.Slot.Pod.Begun(), b.now)
	}
}
