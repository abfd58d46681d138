package cri_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"nodal/host/cri"
	"nodal/node"
	"nodal/node/limit"
	"nodal/node/manifest"
	"nodal/node/users"
	sim "nodal/sim/cri"
)

func TestPodGoesThroughAllActions(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		f.pod.Object.Spec.Containers[0].Args = []string{"exit", "3", "after", "1s"}
		sandbox, container := f.start()
		if got := f.do(node.InspectSandbox{ID: sandbox}).Sandbox; len(got.IPs) != 1 || !got.Inspected || got.UID != "uid-1" {
			t.Errorf("the sandbox is %+v, want it inspected with one address", got)
		}
		time.Sleep(2 * time.Second)
		got := f.inspect(container)
		if got.State != node.ContainerExited || got.ExitCode != 3 || !got.Inspected || got.SandboxID != sandbox {
			t.Errorf("the container is %+v, want it exited with 3", got)
		}
		if got.Ran() != time.Second || got.Grace != 7*time.Second || got.Hash != manifest.ContainerHash(&f.pod.Object.Spec.Containers[0]) {
			t.Errorf("ran %s, grace %s, hash %q", got.Ran(), got.Grace, got.Hash)
		}
		f.do(node.RemoveContainer{Container: "main", ID: container})
		f.do(node.StopSandbox{ID: sandbox})
		f.do(node.RemoveSandbox{ID: sandbox})
		if snapshot := server.Snapshot(); len(snapshot.Sandboxes)+len(snapshot.Containers) != 0 {
			t.Errorf("left in the runtime: %+v", snapshot)
		}
	})
}

func TestListTellsPodsApart(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, _ *sim.Server) {
		f.start()
		other := &fixture{T: f.T, cri: f.cri, pod: testPod(testImage, "run")}
		other.pod.Object.Name, other.pod.Object.UID = "db", "uid-2"
		_, dbContainer := other.create()
		all, err := f.cri.List(f.Context(), nil)
		if err != nil || len(all) != 2 {
			t.Fatalf("listed %v, %v, want two pods", all, err)
		}
		web := all[f.pod.Key()]
		if len(web.Sandboxes) != 1 || web.Sandboxes[0].State != node.SandboxReady ||
			len(web.Containers) != 1 || web.Containers[0].State != node.ContainerRunning {
			t.Errorf("web is %+v, want a ready sandbox and a running container", web)
		}
		if db := other.list(); len(db.Containers) != 1 || db.Containers[0].ID != dbContainer || db.Containers[0].UID != "uid-2" {
			t.Errorf("db is %+v, want its own container", db)
		}
		nobody := node.Key{Namespace: "default", Name: "nobody"}
		if got, err := f.cri.List(f.Context(), &nobody); err != nil || got[nobody] == nil || !got[nobody].Empty() {
			t.Errorf("a pod that is not there: %v, %v, want it empty", got, err)
		}
	})
}

func TestStopAndRemoveSucceedForMissingThings(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		// Some runtimes answer such calls with success, as the simulated one does.
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "*", Kind: sim.ErrorBefore, Code: codes.NotFound}}})
		for _, a := range []node.Action{
			node.StopContainer{Container: "main", ID: "none"}, node.RemoveContainer{Container: "main", ID: "none"},
			node.StopSandbox{ID: "none"}, node.RemoveSandbox{ID: "none"},
		} {
			if err := f.try(a); err != nil {
				t.Errorf("%s: %v, want success", a, err)
			}
		}
		for _, a := range []node.Action{node.InspectSandbox{ID: "none"}, node.InspectContainer{Container: "main", ID: "none"}} {
			if err := f.try(a); !errors.Is(err, node.ErrNotFound) {
				t.Errorf("%s: %v, want not found", a, err)
			}
		}
	})
}

// everyCall is each action with the call that it makes and the reason when that
// fails.
func everyCall(sandbox, container string) map[string]struct {
	action node.Action
	reason string
} {
	return map[string]struct {
		action node.Action
		reason string
	}{
		"RunPodSandbox":             {node.RunSandbox{Attempt: 9}, "FailedCreatePodSandBox"},
		"StopPodSandbox":            {node.StopSandbox{ID: sandbox}, "KillPodSandboxError"},
		"RemovePodSandbox":          {node.RemoveSandbox{ID: sandbox}, "RemovePodSandboxError"},
		"UpdatePodSandboxResources": {node.ResizeSandbox{ID: sandbox}, "ResizePodSandboxError"},
		"PodSandboxStatus":          {node.InspectSandbox{ID: sandbox}, "InspectPodSandboxError"},
		"CreateContainer": {node.CreateContainer{Container: "main", Attempt: 9, SandboxID: sandbox, ImageID: testImage},
			"CreateContainerError"},
		"StartContainer":           {node.StartContainer{Container: "main", ID: container}, "RunContainerError"},
		"StopContainer":            {node.StopContainer{Container: "main", ID: container}, "KillContainerError"},
		"RemoveContainer":          {node.RemoveContainer{Container: "main", ID: container}, "RemoveContainerError"},
		"ContainerStatus":          {node.InspectContainer{Container: "main", ID: container}, "InspectContainerError"},
		"UpdateContainerResources": {node.ResizeContainer{Container: "main", ID: container}, "ResizeContainerError"},
		"ContainerStats":           {node.ResizeContainer{Container: "main", ID: container, Limits: limit.Limits{Memory: 1 << 30}}, "ResizeContainerError"},
	}
}

func TestErrorsTellFailureFromUnknownOutcome(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		sandbox, container := f.create()
		for method, call := range everyCall(sandbox, container) {
			inject := func(kind sim.FaultKind, code codes.Code) {
				server.Inject(sim.Faults{Rules: []sim.Rule{{Method: method, Kind: kind, Code: code}}})
			}
			inject(sim.ErrorBefore, codes.Internal)
			f.wantFailure(f.try(call.action), call.reason)
			for _, code := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.AlreadyExists} {
				inject(sim.ErrorBefore, code)
				f.wantUnknown(f.try(call.action))
			}
			inject(sim.Hang, 0)
			f.wantUnknown(f.try(call.action))
			ctx, cancel := context.WithTimeout(f.Context(), time.Second)
			_, err := f.cri.Do(ctx, f.pod, nil, call.action)
			cancel()
			f.wantUnknown(err)
		}
	})
}

func TestLostReplyIsFoundByListing(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "RunPodSandbox", Nth: 1, Kind: sim.LostReply}}})
		begin := time.Now()
		f.wantUnknown(f.try(node.RunSandbox{}))
		if took, want := time.Since(begin), 2*testTimeout; took != want {
			t.Errorf("gave up after %s, want %s", took, want)
		}
		if got := f.list().Sandboxes; len(got) != 1 || got[0].State != node.SandboxReady {
			t.Errorf("sandboxes are %+v, want the one that was made", got)
		}
		f.wantUnknown(f.try(node.RunSandbox{}))
	})
}

func TestStopGivesWholeSecondsAndNeverLessThanTwo(t *testing.T) {
	for grace, want := range map[time.Duration]time.Duration{
		0:                       2 * time.Second,
		time.Nanosecond:         2 * time.Second,
		2001 * time.Millisecond: 3 * time.Second,
		30 * time.Second:        30 * time.Second,
	} {
		onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
			f.pod.Object.Spec.Containers[0].Args = []string{"ignore-term"}
			_, container := f.start()
			begin := time.Now()
			f.do(node.StopContainer{Container: "main", ID: container, Grace: grace})
			if got := time.Since(begin); got != want {
				t.Errorf("grace %s: killed after %s, want %s", grace, got, want)
			}
		})
	}
}

func TestContainersGetTheirLabelsAndEnvironment(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		f.pod.Object.Spec.Containers[0].Env = []corev1.EnvVar{{
			Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}},
		}}
		f.create()
		got := server.Snapshot().Containers[0]
		for name, want := range map[string]string{
			"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default",
			"io.kubernetes.pod.uid": "uid-1", "io.kubernetes.container.name": "main",
		} {
			if got.Labels[name] != want {
				t.Errorf("label %s is %q, want %q", name, got.Labels[name], want)
			}
		}
		for name, want := range map[string]string{
			"io.kubernetes.container.hash":                   manifest.ContainerHash(&f.pod.Object.Spec.Containers[0]),
			"io.kubernetes.container.restartCount":           "0",
			"io.kubernetes.container.terminationMessagePath": "",
			"io.kubernetes.pod.terminationGracePeriod":       "7",
		} {
			if got.Annotations[name] != want {
				t.Errorf("annotation %s is %q, want %q", name, got.Annotations[name], want)
			}
		}
	})
}

func TestSandboxNeedsTheHostsResolvConf(t *testing.T) {
	config := testConfig(t)
	config.ResolvConf = filepath.Join(t.TempDir(), "resolv.conf")
	onSimWith(t, sim.Config{}, config, func(f *fixture, server *sim.Server) {
		f.wantFailure(f.try(node.RunSandbox{}), node.FailedCreateSandbox)
		if err := os.WriteFile(config.ResolvConf, []byte("nameserver 192.0.2.53\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f.do(node.RunSandbox{})
		if got := server.Snapshot().Sandboxes; len(got) != 1 {
			t.Errorf("got %d sandboxes once the file is there, want 1", len(got))
		}
	})
}

func TestActionsForOthersAreRefused(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, _ *sim.Server) {
		for _, a := range []node.Action{node.TearDown{}, node.SetTally{}, node.Release{}} {
			if err := f.try(a); !errors.Is(err, node.ErrUnsupported) {
				t.Errorf("%s: %v, want unsupported", a, err)
			}
		}
	})
}

func TestStatusHasTheReasonForMissingReadiness(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		server.SetReady(true, false)
		got, err := f.cri.Status(f.Context())
		if err != nil || !got.Ready || got.NetworkReady || got.Message == "" {
			t.Errorf("got %+v, %v, want a runtime without a network and the reason", got, err)
		}
	})
}

func TestFeaturesAreKnownAfterTheFirstStatus(t *testing.T) {
	for legacy, can := range map[bool]bool{true: false, false: true} {
		onSim(t, sim.Config{Legacy: legacy}, func(f *fixture, server *sim.Server) {
			if got := f.cri.Known(); got != nil {
				t.Errorf("before anybody asks: %+v is known, want nothing", got)
			}
			if _, err := f.cri.Status(f.Context()); err != nil {
				t.Error(err)
			}
			if got := f.cri.Known(); got == nil || got.Features.SupplementalGroupsPolicy != can {
				t.Errorf("%+v is known, want a runtime that can: %t", got, can)
			}
			gone, leave := context.WithCancel(f.Context())
			leave()
			if _, err := f.cri.Status(gone); err == nil || f.cri.Known() == nil {
				t.Errorf("who asks goes away: %v, and %+v is known, want what was", err, f.cri.Known())
			}
			server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "Status", Kind: sim.ErrorBefore, Code: codes.Unavailable}}})
			if _, err := f.cri.Status(f.Context()); err == nil || f.cri.Known() != nil {
				t.Errorf("the runtime is gone: %v, and %+v is known, want nothing", err, f.cri.Known())
			}
		})
	}
}

func TestPodsOfTheirOwnNetworkWaitForIt(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		server.SetReady(true, false)
		err := f.try(node.RunSandbox{})
		f.wantFailure(err, "NetworkNotReady")
		if want := "network is not ready: NetworkPluginNotReady Network plugin returns error: cni plugin not initialized"; err.Error() != want {
			t.Errorf("the failure is %q, want %q", err, want)
		}
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "Status", Kind: sim.ErrorBefore, Code: codes.Unavailable}}})
		f.wantFailure(f.try(node.RunSandbox{}), "FailedCreatePodSandBox")
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "StopPodSandbox", Kind: sim.ErrorBefore, Code: codes.Unknown}}})
		f.wantFailure(f.try(node.StopSandbox{ID: "left"}), "NetworkNotReady")
		f.pod.Object.Spec.HostNetwork = true
		f.wantFailure(f.try(node.StopSandbox{ID: "left"}), "KillPodSandboxError")
		f.do(node.RunSandbox{Attempt: 1})
	})
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		server.SetReady(true, false)
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "RunPodSandbox", Kind: sim.ErrorBefore, Code: codes.Unavailable}}})
		f.wantUnknown(f.try(node.RunSandbox{}))
	})
}

func TestDialTakesOnlyLocalSockets(t *testing.T) {
	for endpoint, ok := range map[string]bool{
		"unix:///run/none.sock": true, "/run/none.sock": true,
		"": false, "none.sock": false, "tcp://127.0.0.1:1": false, "unix://relative": false,
	} {
		conn, err := cri.Dial(cri.Config{Endpoint: endpoint})
		if (err == nil) != ok || !ok && !errors.Is(err, node.ErrInvalid) {
			t.Errorf("%q: %v, want success: %t", endpoint, err, ok)
		}
		if err == nil {
			if err := conn.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	}
}

func TestWallsNeedARuntimeThatHasThem(t *testing.T) {
	for name, ask := range map[string]func(*node.Pod){
		"strict groups": func(p *node.Pod) {
			p.Object.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroupsPolicy: new(corev1.SupplementalGroupsPolicyStrict)}
		},
		"users of its own": func(p *node.Pod) {
			p.Object.Spec.HostUsers, p.Users = new(false), &users.Range{First: 1 << 16, Count: 1 << 16}
		},
	} {
		onSim(t, sim.Config{}, func(f *fixture, _ *sim.Server) {
			ask(f.pod)
			if err := f.try(node.RunSandbox{}); err != nil {
				t.Errorf("%s, where the runtime can: %v", name, err)
			}
		})
		onSim(t, sim.Config{Legacy: true}, func(f *fixture, server *sim.Server) {
			ask(f.pod)
			f.wantFailure(f.try(node.RunSandbox{}), "FailedCreatePodSandBox")
			if got := server.Snapshot(); len(got.Sandboxes) != 0 {
				t.Errorf("%s: the runtime has %+v, want no sandbox", name, got.Sandboxes)
			}
			server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "Status", Kind: sim.ErrorBefore, Code: codes.Unavailable}}})
			f.wantUnknown(f.try(node.RunSandbox{}))
		})
	}
}

func TestAHandlerOfItsOwnHasToMapUsers(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, _ *sim.Server) {
		f.pod.Object.Spec.HostUsers, f.pod.Users, f.pod.Handler = new(false), &users.Range{First: 1 << 16, Count: 1 << 16}, "other"
		f.wantFailure(f.try(node.RunSandbox{}), "FailedCreatePodSandBox")
	})
}

func TestStopSignalThatTheRuntimeIgnoresIsReported(t *testing.T) {
	for legacy, want := range map[bool]int{true: 1, false: 0} {
		var events []node.Event
		config := testConfig(t)
		config.Event = func(e node.Event) { events = append(events, e) }
		onSimWith(t, sim.Config{Legacy: legacy}, config, func(f *fixture, _ *sim.Server) {
			f.pod.Object.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{StopSignal: new(corev1.SIGUSR1)}
			f.pod.Object.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(7))}
			_, container := f.start()
			got := f.inspect(container)
			if len(events) != want || want == 1 && events[0].Reason != "StopSignalIgnored" {
				t.Errorf("legacy %t: events are %+v, want %d", legacy, events, want)
			}
			if knows := got.StopSignal == "SIGUSR1" && got.User != nil && got.User.UID == 7; knows == legacy {
				t.Errorf("legacy %t: user %v and signal %q", legacy, got.User, got.StopSignal)
			}
		})
	}
}

func TestALimitOfAWholePodReachesTheRuntime(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		sandbox, _ := f.create()
		if err := f.try(node.ResizeSandbox{ID: sandbox, Limits: limit.Limits{CPUShares: 512}}); err != nil {
			f.Fatal(err)
		}
		if got := server.Snapshot().Sandboxes[0].Resources.GetCpuShares(); got != 512 {
			f.Errorf("the sandbox has %d shares, want 512", got)
		}
	})
}

func TestARuntimeThatKnowsNoLimitsOfPodsIsAskedOnce(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		sandbox, _ := f.create()
		asked := 0
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "UpdatePodSandboxResources", Kind: sim.ErrorBefore, Code: codes.Unimplemented, Match: func(any) bool {
			asked++
			return true
		}}}})
		for range 3 {
			if err := f.try(node.ResizeSandbox{ID: sandbox}); err != nil {
				f.Errorf("got %v, want that it does not matter", err)
			}
		}
		if asked != 1 {
			f.Errorf("the runtime was asked %d times, want once", asked)
		}
	})
}
