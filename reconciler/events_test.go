package reconciler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestReport(t *testing.T) {
	ended := func(code int32, reason, message string) node.Result {
		return node.Result{Container: &node.Container{State: node.ContainerExited, Attempt: 2, ExitCode: code, Reason: reason, Message: message}}
	}
	failed := func(reason string) error { return &node.Failure{Reason: reason, Err: errors.New("it broke")} }
	inspect := node.InspectContainer{Container: "app"}
	for _, c := range []struct {
		name    string
		outcome Outcome
		want    string // empty: no event
	}{
		{"a sandbox", Outcome{Action: node.RunSandbox{}, Result: node.Result{ID: "s1"}}, "SandboxCreated: created the pod's sandbox s1"},
		{"a pull was told by who made it", Outcome{Action: node.EnsureImage{Container: "app", Ref: "app:1"}}, ""},
		{"so was one that failed", Outcome{Action: node.EnsureImage{Container: "app", Ref: "app:1"}, Err: failed("ErrImagePull")}, ""},
		{"a container that was made", Outcome{Action: node.CreateContainer{Container: "app", Attempt: 1}}, "Created: Container created, attempt 1"},
		{"a container that runs is no news when it is looked at",
			Outcome{Action: inspect, Result: node.Result{Container: &node.Container{State: node.ContainerRunning}}}, ""},
		{"a clean end", Outcome{Action: inspect, Result: ended(0, "Completed", "")}, "Exited: container app, attempt 2, ended with exit code 0"},
		{"a failure warns, with the runtime's word", Outcome{Action: inspect, Result: ended(137, "OOMKilled", "")},
			"warning Exited: container app, attempt 2, ended with exit code 137: OOMKilled"},
		{"a container's last words", Outcome{Action: inspect, Result: ended(1, "Error", "no config")},
			"warning Exited: container app, attempt 2, ended with exit code 1: no config"},
		{"a restart", Outcome{Action: node.SetTally{Container: "app", Tally: node.Tally{Restarts: 3}}}, "Restarting: restart 3 of container app"},
		{"the deadline of a pod", Outcome{Action: node.SetTermination{Termination: node.Termination{Reason: "DeadlineExceeded", Message: "for too long"}}},
			"DeadlineExceeded: for too long"},
		{"the end of a pod", Outcome{Action: node.SetResult{Status: &corev1.PodStatus{Phase: corev1.PodSucceeded}}}, "Succeeded: all containers have ended"},
		{"a stop was announced", Outcome{Action: node.StopContainer{Container: "app"}}, ""},
		{"a failure has Kubernetes' word", Outcome{Action: node.CreateContainer{Container: "app"}, Err: failed("CreateContainerError")},
			"warning Failed: Error: it broke"},
		{"a sandbox that fails has an event of its own", Outcome{Action: node.RunSandbox{}, Err: failed("FailedCreatePodSandBox")},
			"warning FailedCreatePodSandBox: Failed to create pod sandbox: it broke"},
		{"a hook that fails has an event of its own", Outcome{Action: node.RunHook{}, Err: failed("FailedPreStopHook")}, "warning FailedPreStopHook: PreStopHook failed: it broke"},
		{"one that succeeds is no news", Outcome{Action: node.RunHook{}}, ""},
		{"what was given up is no failure", Outcome{Action: node.EnsureImage{}, Err: context.Canceled}, ""},
		{"what is gone is no failure", Outcome{Action: inspect, Err: fmt.Errorf("inspect: %w", node.ErrNotFound)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if e, ok := report(c.outcome); ok {
				got = told(e)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAnnounce(t *testing.T) {
	e, ok := announce(node.StopContainer{Container: "app", Grace: 29800 * time.Millisecond, Reason: "deleted"})
	if got, want := told(e), "Killing: Stopping container app within 30s: deleted"; !ok || got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e, ok = announce(node.RunHook{Kind: node.PreStop, Container: "app", Reason: "deleted"})
	if got, want := told(e), "Killing: Stopping container app after its preStop hook: deleted"; !ok || got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if e, ok := announce(node.RunHook{Kind: node.PostStart, Container: "app"}); ok {
		t.Errorf("a postStart hook is no news, got %q", told(e))
	}
	if e, ok := announce(node.StartContainer{Container: "app"}); ok {
		t.Errorf("a start is told when it is done, not %q before", told(e))
	}
}

func told(e node.Event) string {
	line := e.Reason + ": " + e.Message
	if e.Warning {
		line = "warning " + line
	}
	return line
}
