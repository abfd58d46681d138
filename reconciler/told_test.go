package reconciler_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/intake"
	sim "nodal/sim/cri"
)

// told returns what the cluster was told of the pod web, whose readiness changed some time ago.
func (b *bench) told(ready bool, ago time.Duration) *corev1.PodStatus {
	b.Helper()
	view, _ := b.store.View(key("web"))
	run := view.Got.Newest("u1", "main")
	began := metav1.NewTime(run.StartedAt)
	return &corev1.PodStatus{
		StartTime:  &began,
		Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, LastTransitionTime: metav1.NewTime(time.Now().Add(-ago))}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", ContainerID: "containerd://" + run.ID, Ready: ready, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}},
		}},
	}
}

// TestAnAdoptedPodIsAsReadyAsItWas: another kubelet has probed it.
func TestAnAdoptedPodIsAsReadyAsItWas(t *testing.T) {
	inCluster(t, func(b *bench) {
		object := probed("web")
		object.UID, object.Annotations = "u1", map[string]string{node.AnnotationFrom: node.Cluster}
		b.hear("u1")
		b.bring(object)
		b.rest(time.Hour)
		told := b.told(true, time.Minute)
		b.stop()
		b.forget("web")
		b.rejoin()
		b.hear("u1")
		if _, _, err := b.intake.Apply([]intake.Delivery{{Pod: object, Told: told}}, time.Now()); err != nil {
			b.Fatal(err)
		}
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.wantEffects(map[sim.EffectKind]int{sim.ContainerStarted: 1})
		b.wantAsked("web", node.ReadinessProbe, node.LivenessProbe)
		ready := conditionOf(b.status("web"), corev1.PodReady)
		if !ready.LastTransitionTime.Equal(&told.Conditions[0].LastTransitionTime) {
			t.Errorf("got ready since %s, want %s", ready.LastTransitionTime, told.Conditions[0].LastTransitionTime)
		}

		b.says("web", node.ReadinessProbe, false)
		b.wantState("web", "Running running restarts=0 ready=false")
		if _, _, err := b.intake.Apply([]intake.Delivery{{Pod: object, Told: b.told(true, 0)}}, time.Now()); err != nil {
			b.Fatal(err)
		}
		b.rest(time.Minute)
		b.wantState("web", "Running running restarts=0 ready=false") // a probe is heard once, and stands
	})
}

// TestAnAdoptedPodIsAsReadyAsItWasLast: it has a record, and another kubelet has probed it since.
func TestAnAdoptedPodIsAsReadyAsItWasLast(t *testing.T) {
	inCluster(t, func(b *bench) {
		object := probed("web")
		object.UID, object.Annotations = "u1", map[string]string{node.AnnotationFrom: node.Cluster}
		b.hear("u1")
		b.bring(object)
		b.rest(time.Second)
		b.says("web", node.StartupProbe, true)
		b.says("web", node.ReadinessProbe, true)
		b.rest(time.Hour)
		b.stop()
		b.rejoin()
		b.hear("u1")
		b.wantState("web", "Running running restarts=0 ready=true")
		if _, _, err := b.intake.Apply([]intake.Delivery{{Pod: object, Told: b.told(false, time.Minute)}}, time.Now()); err != nil {
			b.Fatal(err)
		}
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=false")
	})
}

func conditionOf(status corev1.PodStatus, kind corev1.PodConditionType) (found corev1.PodCondition) {
	for _, c := range status.Conditions {
		if c.Type == kind {
			found = c
		}
	}
	return found
}
