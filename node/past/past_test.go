package past

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/frame"
)

var update = flag.Bool("update", false, "write the golden record again: only for a new version")

func podOf(name, image string) *node.Pod {
	return &node.Pod{Source: node.SourceAPI, Accepted: time.Unix(1_764_000_000, 0).UTC(), Object: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "u1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}}
}

func stateOf(pod *node.Pod, revision int64, phase corev1.PodPhase) *State {
	return &State{
		Revision: revision, At: time.UnixMilli(1_764_000_000_000 + revision).UTC(), Key: pod.Key(), Pod: pod, Status: corev1.PodStatus{Phase: phase},
	}
}

// story is a file that begins at revision 10: web is changed at 30 and gone at 40, db comes at 20.
func story(t testing.TB) (text []byte, ends []int) {
	t.Helper()
	w, text := NewWriter(10, 1_764_000_000_000)
	web, changed, db := podOf("web", "a:1"), podOf("web", "a:2"), podOf("db", "b:1")
	gone := stateOf(changed, 40, corev1.PodRunning)
	gone.Gone = true
	for _, s := range []*State{
		stateOf(web, 5, corev1.PodPending), stateOf(web, 15, corev1.PodRunning), stateOf(web, 16, corev1.PodRunning), stateOf(db, 20, corev1.PodPending),
		stateOf(changed, 30, corev1.PodRunning), gone,
	} {
		var err error
		if text, err = w.Append(text, s); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(text))
		w.Rest()
	}
	return text, ends
}

// asOf tells what a file says of a pod.
func asOf(t *testing.T, text []byte, name string, at int64) string {
	t.Helper()
	key := node.Key{Namespace: "default", Name: name}
	f, err := Read(text, at, &key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.State(key)
	switch {
	case err != nil:
		t.Fatal(err)
	case s == nil:
		return "none"
	case s.Gone:
		return "gone"
	}
	return s.Pod.Object.Spec.Containers[0].Image + " " + string(s.Status.Phase)
}

func TestAPodIsAsItWas(t *testing.T) {
	text, _ := story(t)
	for at, want := range map[int64]string{
		10: "a:1 Pending", 14: "a:1 Pending", 15: "a:1 Running", 29: "a:1 Running", 30: "a:2 Running", 39: "a:2 Running", 40: "gone", 99: "gone",
	} {
		if got := asOf(t, text, "web", at); got != want {
			t.Errorf("at revision %d it was %q, want %q", at, got, want)
		}
	}
	if got := asOf(t, text, "db", 19); got != "none" {
		t.Errorf("before it came, db was %q", got)
	}
	f, err := Read(text, Everything, nil)
	if err != nil || f.Revision != 10 || f.Good != len(text) || f.Manifests != 3 || len(f.Present()) != 1 || f.Present()[0].Name != "db" {
		t.Errorf("got %+v, %v, want a whole file from revision 10 on with three manifests, and db at its end", f, err)
	}
	s, err := f.State(node.Key{Namespace: "default", Name: "db"})
	if want := podOf("db", "b:1"); err != nil || s.Revision != 20 || !s.At.Equal(time.UnixMilli(1_764_000_000_020)) || s.Pod.Source != node.SourceAPI ||
		!s.Pod.Accepted.Equal(want.Accepted) || s.Pod.Object.UID != "u1" {
		t.Errorf("db is %+v, %v", s, err)
	}
}

func TestAStateThatLooksTheSameCostsNothing(t *testing.T) {
	_, ends := story(t)
	if ends[2] != ends[1] {
		t.Errorf("the same state again takes %d bytes", ends[2]-ends[1])
	}
}

func TestACutAnywhereCostsTheLastStatesOnly(t *testing.T) {
	text, ends := story(t)
	head := bytes.Index(text, []byte{kindManifest})
	for cut := head - 1; cut < len(text); cut++ {
		f, err := Read(text[:cut], Everything, nil)
		if err != nil || f.Good > cut {
			t.Fatalf("cut at %d: got %d good bytes, %v", cut, f.Good, err)
		}
		whole := 0
		for _, end := range ends {
			if end <= cut {
				whole = end
			}
		}
		if f.Good < whole {
			t.Fatalf("cut at %d: got %d good bytes, want at least %d", cut, f.Good, whole)
		}
		for _, key := range f.Present() {
			if _, err := f.State(key); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
		}
	}
}

func TestFilesThatMakeNoSenseAreRefused(t *testing.T) {
	text, _ := story(t)
	_, rest, _ := frame.Next(text)
	for name, c := range map[string]struct {
		text []byte
		want error
	}{
		"nothing":          {nil, errRecord},
		"no beginning":     {rest, errRecord},
		"two beginnings":   {append(bytes.Clone(text), text...), errRecord},
		"another version":  {frame.Append(nil, []byte{kindBegin, 99, 0, 0}), node.ErrUnsupported},
		"a short one":      {frame.Append(bytes.Clone(text), []byte{kindState, 0}), errRecord},
		"an unknown kind":  {frame.Append(bytes.Clone(text), []byte("X")), errRecord},
		"a text too short": {frame.Append(bytes.Clone(text), []byte{kindManifest, 3, 200}), errRecord},
	} {
		if _, err := Read(c.text, Everything, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestTheFormatStaysReadable(t *testing.T) {
	const file = "testdata/version1"
	if *update {
		text, _ := story(t)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := asOf(t, text, "web", 15) + ", " + asOf(t, text, "web", 30) + ", " + asOf(t, text, "db", 30); got != "a:1 Running, a:2 Running, b:1 Pending" {
		t.Errorf("the record of an earlier agent says %q", got)
	}
}

func TestAPodThatIsTooLargeIsAnError(t *testing.T) {
	w, text := NewWriter(1, 0)
	noise := make([]byte, 4<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[x>>16%36]
	}
	pod := podOf("web", "a:1")
	pod.Object.Annotations = map[string]string{"noise": string(noise)}
	if _, err := w.Append(text, stateOf(pod, 1, "")); err == nil || !strings.Contains(err.Error(), "pod default/web takes") {
		t.Errorf("got %v, want that it is too large", err)
	}
}

// BenchmarkAppend measures what the record of a change of a pod's status costs.
func BenchmarkAppend(b *testing.B) {
	pod := podOf("web", "registry.example/app:1")
	w, text := NewWriter(1, 0)
	s := stateOf(pod, 1, corev1.PodRunning)
	for _, kind := range []corev1.PodConditionType{"PodScheduled", "Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers"} {
		s.Status.Conditions = append(s.Status.Conditions, corev1.PodCondition{Type: kind, Status: "True", LastTransitionTime: metav1.Unix(1_764_000_000, 0)})
	}
	s.Status.PodIPs = []corev1.PodIP{{IP: "10.88.0.7"}}
	s.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", Image: "registry.example/app:1", ImageID: "registry.example/app@sha256:" + strings.Repeat("0123456789abcdef", 4),
		ContainerID: "containerd://" + strings.Repeat("fedcba9876543210", 4),
		State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(1_764_000_000, 0)}},
	}}
	bytes := 0
	for b.Loop() {
		s.Revision++
		s.Status.ContainerStatuses[0].RestartCount++
		next, err := w.Append(text[:0], s)
		if err != nil {
			b.Fatal(err)
		}
		bytes += len(next)
	}
	b.ReportMetric(float64(bytes)/float64(b.N), "bytes/state")
}
