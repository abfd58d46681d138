package runs

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// onePod is a store with pod default/web, whose runs are given newest first.
type onePod []node.Container

var web = node.Key{Namespace: "default", Name: "web"}

func (p onePod) View(key node.Key) (store.View, bool) {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-2"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
	}
	return store.View{
		Key: key, Slot: &node.Slot{Pod: &node.Pod{Object: object}}, Got: &node.Observed{Containers: p},
	}, key == web
}

func TestARunIsFoundOnlyWhileItRuns(t *testing.T) {
	running, exited := node.ContainerRunning, node.ContainerExited
	main := func(uid types.UID, state node.ContainerState) node.Container {
		return node.Container{UID: uid, Name: "main", State: state}
	}
	for _, c := range []struct {
		name      string
		pods      onePod
		key       node.Key
		container string
		want      error
		may       func(context.Context, *corev1.Pod) error
	}{
		{"it runs", onePod{main("uid-2", running)}, web, "main", nil, nil},
		{"its newest run has ended", onePod{main("uid-2", exited), main("uid-2", running)}, web, "main", node.ErrConflict, nil},
		{"another pod's run has its name", onePod{main("uid-1", running)}, web, "main", node.ErrConflict, nil},
		{"it has no run", nil, web, "main", node.ErrConflict, nil},
		{"the pod declares no such container", nil, web, "none", node.ErrNotFound, nil},
		{"the caller may not enter it", onePod{main("uid-2", running)}, web, "main", node.ErrDenied,
			func(context.Context, *corev1.Pod) error { return node.ErrDenied }},
		{"there is no such pod", nil, node.Key{Namespace: "default", Name: "none"}, "main", node.ErrNotFound, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			entrance := Entrance{Pods: c.pods, May: c.may}
			if c.may == nil {
				entrance.May = func(context.Context, *corev1.Pod) error { return nil }
			}
			if _, err := entrance.Running(t.Context(), c.key, c.container); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestACommandThatCannotStartIsTheCallersFault(t *testing.T) {
	for _, c := range []struct {
		text    string
		invalid bool
	}{
		{`exec: "sj": executable file not found in $PATH`, true},
		{"permission denied", true},
		{"the runtime is gone", false},
	} {
		if err := Failed([]string{"sj"}, web, errors.New(c.text)); errors.Is(err, node.ErrInvalid) != c.invalid {
			t.Errorf("%s: got %v, want it to be invalid: %t", c.text, err, c.invalid)
		}
	}
}

func TestALogOfTheLastMillionYearsIsTheWholeLog(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	if got := SecondsBefore(now, 1<<62); got.Unix() != 0 {
		t.Errorf("got %v, want the beginning of time", got)
	}
	if got, want := SecondsBefore(now, 7), now.Add(-7*time.Second); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
