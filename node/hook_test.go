package node

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestRunHookIsReadable(t *testing.T) {
	for _, c := range []struct {
		hook          RunHook
		want, failure string
	}{
		{RunHook{Kind: PostStart, Container: "app", ID: "c1"}, "run postStart hook of app c1", FailedPostStart},
		{RunHook{Kind: PostStart, Container: "app", ID: "c1", Again: true}, "run postStart hook of app c1 again", FailedPostStart},
		{RunHook{Kind: PreStop, Container: "app", ID: "c1", Until: time.Unix(0, 0).UTC(), Reason: "deleted"},
			"run preStop hook of app c1 until 00:00:00: deleted", FailedPreStop},
	} {
		if got := c.hook.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if got := c.hook.Failure(errors.New("broken")).Reason; got != c.failure {
			t.Errorf("the reason of %s is %s, want %s", c.hook, got, c.failure)
		}
	}
}

func TestHookOf(t *testing.T) {
	start, stop := &corev1.LifecycleHandler{}, &corev1.LifecycleHandler{}
	c := &corev1.Container{}
	if HookOf(c, PostStart) != nil || HookOf(c, PreStop) != nil {
		t.Error("a container without hooks has one")
	}
	c.Lifecycle = &corev1.Lifecycle{PostStart: start, PreStop: stop}
	if HookOf(c, PostStart) != start || HookOf(c, PreStop) != stop {
		t.Error("a hook is taken for the other")
	}
}
