package cri

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestContainerEndsAsItsProgramSays(t *testing.T) {
	for _, c := range []struct {
		name   string
		words  []string
		after  time.Duration
		code   int32
		reason string
	}{
		{"at once", []string{"exit", "0"}, 0, 0, "Completed"},
		{"after a while with a failure", []string{"exit", "3", "after", "2s"}, 2 * time.Second, 3, "Error"},
		{"for want of memory", []string{"oom", "after", "1m"}, time.Minute, 137, "OOMKilled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Config{}, func(f *fixture) {
				f.start(f.sandbox("u1"), c.words...)
				time.Sleep(c.after + time.Millisecond)
				got := f.container()
				if got.Running() || got.ExitCode != c.code || got.Reason != c.reason {
					f.Errorf("got running %t, code %d, reason %q, want ended, %d, %q", got.Running(), got.ExitCode, got.Reason, c.code, c.reason)
				}
				if ran := got.FinishedAt.Sub(got.StartedAt); ran != c.after {
					f.Errorf("ran for %s, want %s", ran, c.after)
				}
			})
		})
	}
}

func TestStopHonoursTheGracePeriod(t *testing.T) {
	const started = "container-started default/web/u1 main #0"
	for _, c := range []struct {
		name  string
		words []string
		took  time.Duration
		want  []string
	}{
		{"a program that obeys", []string{"run"}, 0, []string{
			"container-signaled default/web/u1 main #0 TERM grace=30s",
			"container-exited default/web/u1 main #0 code=143"}},
		{"a slow program", []string{"slow-term", "10s"}, 10 * time.Second, []string{
			"container-signaled default/web/u1 main #0 TERM grace=30s",
			"container-exited default/web/u1 main #0 code=143"}},
		{"a deaf program", []string{"ignore-term"}, 30 * time.Second, []string{
			"container-signaled default/web/u1 main #0 TERM grace=30s",
			"container-signaled default/web/u1 main #0 KILL grace=30s",
			"container-exited default/web/u1 main #0 code=137"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Config{}, func(f *fixture) {
				id := f.start(f.sandbox("u1"), c.words...)
				begin := time.Now()
				if err := f.stop(f.Context(), id, 30); err != nil {
					f.Errorf("stop: %v", err)
				}
				if took := time.Since(begin); took != c.took {
					f.Errorf("the stop took %s, want %s", took, c.took)
				}
				f.wantJournal(append([]string{
					"sandbox-started default/web/u1 #0", "container-created default/web/u1 main #0", started,
				}, c.want...)...)
			})
		})
	}
}

func TestRuntimeRestartKeepsWhatRuns(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		f.start(f.sandbox("u1"), "run")
		f.server.Crash()
		synctest.Wait()
		_, err := f.cri.Version(f.Context(), &runtime.VersionRequest{})
		f.wantCode(err, codes.Unavailable)

		f.server.Recover()
		_, err = f.cri.Version(f.Context(), &runtime.VersionRequest{}, grpc.WaitForReady(true))
		f.wantCode(err, codes.OK)
		if !f.container().Running() {
			f.Error("the container ended with the runtime, want it running")
		}
	})
}

func TestEachStepMakesAnEvent(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		ctx, cancel := context.WithCancel(f.Context())
		defer cancel()
		stream, err := f.cri.GetContainerEvents(ctx, &runtime.GetEventsRequest{})
		if err != nil {
			f.Fatal(err)
		}
		if _, err := stream.Header(); err != nil {
			f.Fatal(err)
		}
		sandbox := f.sandbox("u1")
		container := f.start(sandbox, "exit", "3")
		for _, want := range []struct {
			id   string
			kind runtime.ContainerEventType
		}{
			{sandbox, runtime.ContainerEventType_CONTAINER_CREATED_EVENT},
			{sandbox, runtime.ContainerEventType_CONTAINER_STARTED_EVENT},
			{container, runtime.ContainerEventType_CONTAINER_CREATED_EVENT},
			{container, runtime.ContainerEventType_CONTAINER_STARTED_EVENT},
			{container, runtime.ContainerEventType_CONTAINER_STOPPED_EVENT},
		} {
			got, err := stream.Recv()
			if err != nil {
				f.Fatal(err)
			}
			if got.GetContainerId() != want.id || got.GetContainerEventType() != want.kind {
				f.Errorf("got %s of %s, want %s of %s", got.GetContainerEventType(), got.GetContainerId(), want.kind, want.id)
			}
		}
	})
}

func TestLegacyRuntime(t *testing.T) {
	inBubble(t, Config{Legacy: true}, func(f *fixture) {
		stream, err := f.cri.GetContainerEvents(f.Context(), &runtime.GetEventsRequest{})
		if err != nil {
			f.Fatal(err)
		}
		_, err = stream.Recv()
		f.wantCode(err, codes.Unimplemented)
		_, err = f.cri.RuntimeConfig(f.Context(), &runtime.RuntimeConfigRequest{})
		f.wantCode(err, codes.Unimplemented)
		f.wantCode(f.stop(f.Context(), "missing", 1), codes.NotFound)
		_, err = f.cri.StopPodSandbox(f.Context(), &runtime.StopPodSandboxRequest{PodSandboxId: "missing"})
		f.wantCode(err, codes.NotFound)
	})
}

func TestWithoutNetworkOnlyHostNetworkPodsStart(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		f.server.SetReady(true, false)
		if _, err := f.cri.RunPodSandbox(f.Context(), sandboxRequest("u1")); err == nil {
			f.Error("a pod with its own network started, want an error")
		}
		request := sandboxRequest("u1") // the same name: the failure must not keep it
		request.Config.Linux = &runtime.LinuxPodSandboxConfig{SecurityContext: &runtime.LinuxSandboxSecurityContext{
			NamespaceOptions: &runtime.NamespaceOption{Network: runtime.NamespaceMode_NODE},
		}}
		if _, err := f.cri.RunPodSandbox(f.Context(), request); err != nil {
			f.Errorf("run a pod on the host's network: %v", err)
		}
	})
}

func TestInvalidProgramDoesNotStart(t *testing.T) {
	for _, words := range [][]string{{"exit"}, {"exit", "many"}, {"exit", "0", "after"}, {"slow-term", "x"}, {"run", "faster"}} {
		if _, err := parseProgram(words); err == nil {
			t.Errorf("parse %q: got no error, want one", words)
		}
	}
	if _, err := parseProgram([]string{"nginx", "-g", "daemon off;"}); err != nil {
		t.Errorf("an image's own program: %v", err)
	}
}
