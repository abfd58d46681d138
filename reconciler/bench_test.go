package reconciler

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/reconciler/decide"
)

// atRest follows a pod with two containers that run, and with as many volumes.
func atRest(tb testing.TB) (*Track, node.Site, time.Time) {
	tb.Helper()
	site := node.Site{Runtime: "sim", BackoffMax: time.Minute, Cgroups: true}
	began := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}
	for _, name := range []string{"app", "log"} {
		mounts := []corev1.VolumeMount{{Name: name, MountPath: "/" + name}}
		object.Spec.Volumes = append(object.Spec.Volumes, corev1.Volume{
			Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
		})
		object.Spec.Containers = append(object.Spec.Containers, corev1.Container{Name: name, Image: name, VolumeMounts: mounts})
	}
	slot := node.NewSlot(&node.Pod{Accepted: began, Object: object})
	t := NewTrack(slot, nil, true)
	limits := site.LimitsOfPod(slot.Pod, object)
	mark := node.Mark(0)
	done := func(a node.Action, r node.Result) {
		mark++
		t.Begin(a)
		t.Done(Outcome{Action: a, Result: r, Mark: mark, Now: began})
	}
	done(node.SetUpCgroup(limits), node.Result{})
	done(node.RunSandbox{}, node.Result{ID: "s1"})
	done(node.InspectSandbox{ID: "s1"}, node.Result{Sandbox: &node.Sandbox{IPs: []string{"10.0.0.1"}}})
	for i := range object.Spec.Containers {
		c := &object.Spec.Containers[i]
		done(node.SetUpVolume(c.Name, ""), node.Result{})
		done(node.EnsureImage{Container: c.Name, Ref: c.Image}, node.Result{ID: "sha256:" + c.Image})
		done(node.CreateContainer{
			Container: c.Name, SandboxID: "s1", Hash: manifest.ContainerHash(c), Limits: site.LimitsOf(slot.Pod, object, c),
		}, node.Result{ID: c.Name + "1"})
		done(node.StartContainer{Container: c.Name, ID: c.Name + "1"}, node.Result{})
		done(node.InspectContainer{Container: c.Name, ID: c.Name + "1"}, node.Result{Container: &node.Container{
			ID: c.Name + "1", SandboxID: "s1", UID: "u1", Name: c.Name, State: node.ContainerRunning, Inspected: true,
			Hash: manifest.ContainerHash(c),
		}})
	}
	if turn := t.Next(decide.Input{Site: site, Now: began}); len(turn.Actions) > 0 || turn.Observe {
		tb.Fatalf("got %+v, want that nothing is left to do", turn)
	}
	return t, site, began
}

func BenchmarkNextAtRest(b *testing.B) {
	t, site, now := atRest(b)
	b.ReportAllocs()
	for b.Loop() {
		if turn := t.Next(decide.Input{Site: site, Now: now}); len(turn.Actions) > 0 {
			b.Fatal(turn)
		}
	}
}

func BenchmarkSeeWithoutNews(b *testing.B) {
	t, _, now := atRest(b)
	mark := node.Mark(1000)
	b.ReportAllocs()
	for b.Loop() {
		mark++
		if !t.See(t.Got(), mark, now) {
			b.Fatal("the look was refused")
		}
	}
}

func BenchmarkFoldAnInspection(b *testing.B) {
	t, _, now := atRest(b)
	a := node.InspectContainer{Container: "app", ID: "app1"}
	b.ReportAllocs()
	for b.Loop() {
		t.Begin(a)
		t.Done(Outcome{Action: a, Mark: t.effect + 1, Now: now})
	}
}
