package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// wantedElsewhere has a source want every other pod that runs.
func wantedElsewhere(s *scene) { s.wanted = func(_ types.UID, runs bool) bool { return runs } }

// unheardCluster makes the pod one of a cluster that was not heard yet.
func unheardCluster(s *scene) {
	s.slot.Pod.Source, s.unheard = node.SourceAPI, true
	s.slot.Pod.Object.Annotations = map[string]string{node.AnnotationFrom: node.Cluster}
}

func unheardFile(s *scene) { s.slot.Pod.Source, s.unheard = node.SourceFile, true }

func TestStrays(t *testing.T) {
	const why = "; why another pod of this name is still being removed; done"
	testStep(t, strays, []stepCase{
		{"nothing else under the name, nothing to do", pod(always, ready, running("app")), ""},
		{"another pod's containers end within what it allowed them", pod(always, ready, running("app"), stranger),
			"stop app app-0 grace=7s: its pod is not wanted; why waiting for containers to end; done"},
		{"then its sandbox is stopped", pod(always, ready, exited("app", 0), stranger), "stop sandbox s0" + why},
		{"then all of it is removed", pod(always, gone, exited("app", 0), stranger), "remove sandbox s0" + why},
		{"what follows it stays, and it waits", pod(always, ready, running("app"), stranger, wantedElsewhere),
			"why another pod of this name runs, and its source wants it; done"},
		{"a removal that failed is waited for", pod(always, gone, stranger, fault("sandbox/s0", 2)), "wake in 2s; why Broken; done"},
	})
}

func TestPodWaitsForStrays(t *testing.T) {
	testPod(t, []stepCase{
		{"nothing of the pod is made before", pod(always, gone, stranger), "remove sandbox s0; why another pod of this name is still being removed"},
		{"a deleted pod removes them as well", pod(always, gone, stranger, deleted(1, 30)), "remove sandbox s0; why another pod of this name is still being removed"},
	})
}

func TestDeletedPodLeavesTheOneThatFollows(t *testing.T) {
	next := func(s *scene) {
		s.slot.Next = &node.Pod{Object: &corev1.Pod{}}
		s.slot.Next.Object.UID = s.got.Sandboxes[0].UID
	}
	testPod(t, []stepCase{
		{"its source wants it", pod(always, ready, running("app"), stranger, wantedElsewhere, deleted(1, 30)), "tear down volumes"},
		{"it was delivered", pod(always, ready, running("app"), stranger, next, deleted(1, 30)), "tear down volumes"},
		{"only its remains are there", pod(always, gone, stranger, wantedElsewhere, deleted(1, 30)),
			"remove sandbox s0; why another pod of this name is still being removed"},
	})
}

func TestPodWhoseSourceWasNotHeardIsLeftAlone(t *testing.T) {
	const waits = "why the cluster has not said yet whether it still wants the pod; done"
	testStep(t, unheard, []stepCase{
		{"a cluster's pod of which nothing is there does not begin", pod(always, unheardCluster), waits},
		{"one that was here before this start goes on", pod(always, unheardCluster, gone), ""},
		{"a static pod begins without its file", pod(always, unheardFile), ""},
		{"a pod begins once the cluster was heard", pod(always), ""},
	})
	const kept = "why container app runs another version, and its source has not said yet which one it wants"
	testStep(t, containers, []stepCase{
		{"another version runs on", pod(always, unheardCluster, ready, running("app"), newImage), kept},
		{"of a static pod as well", pod(always, unheardFile, ready, running("app"), newImage), kept},
		{"a container that has ended follows the record", pod(always, unheardCluster, ready, exited("app", 1), pulled), "tally app restarts=1 streak=1"},
	})
}
