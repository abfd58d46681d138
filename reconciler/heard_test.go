package reconciler_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
	sim "nodal/sim/cri"
)

// clusterPod is a pod that a cluster brings.
func clusterPod(name, uid string) *corev1.Pod {
	object := pod(name)
	object.UID, object.Annotations = types.UID(uid), map[string]string{node.AnnotationFrom: node.Cluster}
	return object
}

// inCluster runs a test with a reconciler of a node that has to hear files and a cluster.
func inCluster(t *testing.T, test func(b *bench)) {
	t.Helper()
	inBubble(t, false, func(b *bench) {
		b.stop()
		b.rejoin()
		test(b)
	})
}

// rejoin starts the agent again. Its files deliver at once, and its cluster is not heard yet.
func (b *bench) rejoin() {
	b.Helper()
	b.sources = store.NewSources(map[node.Source]string{node.SourceFile: "/pods", node.SourceCluster: "a cluster"})
	b.sources.Delivered(node.SourceFile, time.Now(), nil)
	b.start()
	b.rest(time.Second)
}

// hear has the cluster say which pods it wants.
func (b *bench) hear(uids ...types.UID) {
	b.claims = &claims{wanted: uids}
	b.sources.Heard(time.Now(), b.claims)
	b.rest(time.Second)
}

// bring has the cluster post a pod.
func (b *bench) bring(object *corev1.Pod) {
	b.Helper()
	b.apply(object)
	b.claims.note(object.UID)
	b.sources.Ring()
}

// claims are those of a cluster.
type claims struct {
	wanted []types.UID
	mu     sync.Mutex
	posted []types.UID
}

func (c *claims) note(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posted = append(c.posted, uid)
}

func (c *claims) Wants(uid types.UID, _ bool) bool { return slices.Contains(c.wanted, uid) }

func (c *claims) Delivered(_ node.Key, uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.posted, uid)
}

func (b *bench) wantUndisturbed() {
	b.Helper()
	b.wantEffects(map[sim.EffectKind]int{sim.SandboxStarted: 1, sim.ContainerStarted: 1, sim.ContainerSignaled: 0, sim.ContainerExited: 0})
}

func TestPodsWithoutARecordRunOnUntilTheClusterIsHeard(t *testing.T) {
	inCluster(t, func(b *bench) {
		b.hear("u1")
		b.bring(clusterPod("web", "u1"))
		b.rest(time.Second)
		b.stop()
		b.forget("web")
		b.rejoin()
		b.rest(24 * time.Hour)
		b.wantUndisturbed()
		if got := b.reasons(func(e *node.Event) bool { return e.Reason == "WaitingForSources" }); strings.Count(got, " ") != 0 || got == "" {
			t.Errorf("events = %q, want one that says what is waited for", got)
		}

		b.hear("u1")
		b.rest(time.Hour)
		b.wantUndisturbed()

		b.bring(clusterPod("web", "u1"))
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.wantUndisturbed()
	})
}

func TestPodsThatTheClusterDoesNotWantAreRemovedOnceItIsHeard(t *testing.T) {
	inCluster(t, func(b *bench) {
		b.hear("u1")
		b.bring(clusterPod("web", "u1"))
		b.rest(time.Second)
		b.stop()
		b.forget("web")
		b.rejoin()
		b.hear("u2")
		b.wantGone("web")
	})
}

// TestNewerPodOfTheNameIsAdopted: another kubelet ended the recorded pod and ran the next one of the name.
func TestNewerPodOfTheNameIsAdopted(t *testing.T) {
	inCluster(t, func(b *bench) {
		b.hear("u1")
		b.bring(clusterPod("web", "u1"))
		b.rest(time.Second)
		old := b.journal.all()
		b.delete("web", 0)
		b.hear("u2")
		b.bring(clusterPod("web", "u2"))
		b.rest(time.Second)
		before := map[sim.EffectKind]int{}
		for _, kind := range []sim.EffectKind{sim.SandboxStarted, sim.ContainerStarted, sim.ContainerExited} {
			before[kind] = b.effects(kind)
		}
		b.stop()
		for _, r := range old {
			if r.Name == "pods/default_web" {
				b.journal.Commit(r)
			}
		}
		b.rejoin()
		b.rest(time.Hour)
		b.hear("u2")
		b.rest(time.Hour)
		b.bring(clusterPod("web", "u2"))
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		b.wantEffects(before)
	})
}

// TestNewerVersionOfAContainerRunsOn: another kubelet replaced the container after the record was written.
func TestNewerVersionOfAContainerRunsOn(t *testing.T) {
	inCluster(t, func(b *bench) {
		b.hear("u1")
		b.bring(clusterPod("web", "u1"))
		b.rest(time.Second)
		old := b.journal.all()
		newer := clusterPod("web", "u1")
		newer.Spec.Containers[0].Image = "data:1"
		b.bring(newer)
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=1 ready=true")
		b.stop()
		for _, r := range old {
			if r.Name == "pods/default_web" {
				b.journal.Commit(r)
			}
		}
		b.rejoin()
		b.rest(time.Hour)
		b.wantEffects(map[sim.EffectKind]int{sim.ContainerExited: 1})
		b.hear("u1")
		b.rest(time.Hour)
		b.wantEffects(map[sim.EffectKind]int{sim.ContainerExited: 1})
		b.bring(newer)
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=1 ready=true")
	})
}

func TestAClustersPodThatIsNotThereBeginsOnlyOnceItIsHeard(t *testing.T) {
	inCluster(t, func(b *bench) {
		b.apply(clusterPod("web", "u1"))
		b.rest(time.Hour)
		b.hear("u1")
		b.rest(time.Hour)
		b.wantEffects(map[sim.EffectKind]int{sim.SandboxStarted: 0})
		b.bring(clusterPod("web", "u1"))
		b.rest(time.Second)
		b.wantUndisturbed()
	})
}

// forget loses the record of a pod.
func (b *bench) forget(name string) { b.journal.Commit(store.Record{Name: "pods/default_" + name}) }
