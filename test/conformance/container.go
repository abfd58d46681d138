package conformance

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func containerLives(t *testing.T, p *pod) {
	id := p.create(t, "main", p.Programs.Exit3)
	created := p.status(t, id)
	if created.GetState() != runtime.ContainerState_CONTAINER_CREATED {
		t.Errorf("state: got %s, want created", created.GetState())
	}
	if created.GetStartedAt() != 0 || created.GetFinishedAt() != 0 {
		t.Errorf("before the start: got started %d, finished %d, want 0, 0", created.GetStartedAt(), created.GetFinishedAt())
	}
	_, err := p.cri.StartContainer(t.Context(), &runtime.StartContainerRequest{ContainerId: id})
	wantSuccess(t, "start", err)
	wantExit(t, p.waitExit(t, id), 3, "Error")

	running := p.status(t, p.startSecond(t))
	if running.GetState() != runtime.ContainerState_CONTAINER_RUNNING {
		t.Errorf("state: got %s, want running", running.GetState())
	}
	if running.GetStartedAt() == 0 || running.GetFinishedAt() != 0 {
		t.Errorf("while it runs: got started %d, finished %d, want a time, 0", running.GetStartedAt(), running.GetFinishedAt())
	}
}

// startSecond runs a second container beside the one called main.
func (p *pod) startSecond(t *testing.T) string {
	t.Helper()
	id := p.start(t, "second", p.Programs.Run)
	p.waitLog(t, "second", "ready")
	return id
}

func containerNameIsReserved(t *testing.T, p *pod) {
	id := p.create(t, "main", p.Programs.Run)
	_, err := p.cri.CreateContainer(t.Context(), p.request("main", p.Programs.Run))
	wantFailure(t, "create a second container of one name and attempt", err)

	_, err = p.cri.RemoveContainer(t.Context(), &runtime.RemoveContainerRequest{ContainerId: id})
	wantSuccess(t, "remove", err)
	p.create(t, "main", p.Programs.Run)

	again := p.request("main", p.Programs.Run)
	again.Config.Metadata.Attempt = 1
	_, err = p.cri.CreateContainer(t.Context(), again)
	wantSuccess(t, "create the next attempt", err)
}

func containerKeepsLabels(t *testing.T, p *pod) {
	want := p.request("main", p.Programs.Run).GetConfig()
	got := p.status(t, p.create(t, "main", p.Programs.Run))
	if !maps.Equal(got.GetLabels(), want.GetLabels()) {
		t.Errorf("labels: got %v, want %v", got.GetLabels(), want.GetLabels())
	}
	if !maps.Equal(got.GetAnnotations(), want.GetAnnotations()) {
		t.Errorf("annotations: got %v, want %v", got.GetAnnotations(), want.GetAnnotations())
	}
	if got, want := got.GetLogPath(), p.logPath("main"); got != want {
		t.Errorf("log path: got %q, want %q", got, want)
	}
}

func containersAreFiltered(t *testing.T, p *pod) {
	created := p.create(t, "main", p.Programs.Run)
	running := p.startSecond(t)
	inPod := func(state runtime.ContainerState) *runtime.ContainerFilter {
		return &runtime.ContainerFilter{PodSandboxId: p.id, State: &runtime.ContainerStateValue{State: state}}
	}
	for _, c := range []struct {
		name   string
		filter *runtime.ContainerFilter
		want   []string
	}{
		{"by sandbox", &runtime.ContainerFilter{PodSandboxId: p.id}, []string{created, running}},
		{"by id", &runtime.ContainerFilter{Id: created}, []string{created}},
		{"by missing id", &runtime.ContainerFilter{Id: missingID}, nil},
		{"by sandbox and created", inPod(runtime.ContainerState_CONTAINER_CREATED), []string{created}},
		{"by sandbox and running", inPod(runtime.ContainerState_CONTAINER_RUNNING), []string{running}},
		{"by sandbox and exited", inPod(runtime.ContainerState_CONTAINER_EXITED), nil},
		{"by sandbox and label", &runtime.ContainerFilter{
			PodSandboxId: p.id, LabelSelector: map[string]string{"container": "second"}}, []string{running}},
	} {
		response, err := p.cri.ListContainers(t.Context(), &runtime.ListContainersRequest{Filter: c.filter})
		wantSuccess(t, c.name, err)
		var got []string
		for _, item := range response.GetContainers() {
			got = append(got, item.GetId())
		}
		wantSame(t, c.name, got, c.want)
	}
}

// wantSame compares two lists. CRI does not define their order.
func wantSame(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func containerStartsOnce(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.Run)
	request := &runtime.StartContainerRequest{ContainerId: id}
	_, err := p.cri.StartContainer(t.Context(), request)
	wantFailure(t, "start a running container", err)
	wantSuccess(t, "stop", p.stop(t.Context(), id, 10))
	_, err = p.cri.StartContainer(t.Context(), request)
	wantFailure(t, "start an exited container", err)
}

func containerWithoutProgram(t *testing.T, p *pod) {
	id := p.create(t, "main", p.Programs.Missing)
	_, err := p.cri.StartContainer(t.Context(), &runtime.StartContainerRequest{ContainerId: id})
	wantFailure(t, "start", err)
	got := p.status(t, id)
	if got.GetState() != runtime.ContainerState_CONTAINER_EXITED || got.GetExitCode() != 128 || got.GetReason() != "StartError" {
		t.Errorf("got %s, code %d, reason %q, want exited, 128, StartError", got.GetState(), got.GetExitCode(), got.GetReason())
	}
	if got.GetFinishedAt() == 0 || got.GetMessage() == "" {
		t.Errorf("got finished %d, message %q, want both", got.GetFinishedAt(), got.GetMessage())
	}
}

func containerWithoutImage(t *testing.T, p *pod) {
	request := p.request("main", p.Programs.Run)
	request.Config.Image.Image = missingImage
	_, err := p.cri.CreateContainer(t.Context(), request)
	wantFailure(t, "create", err)

	// The failed call must free the name.
	p.create(t, "main", p.Programs.Run)
}

func containerMissing(t *testing.T, p *pod) {
	_, err := p.cri.ContainerStatus(t.Context(), &runtime.ContainerStatusRequest{ContainerId: missingID})
	wantCode(t, "status", err, codes.NotFound)
	_, err = p.cri.StartContainer(t.Context(), &runtime.StartContainerRequest{ContainerId: missingID})
	wantCode(t, "start", err, codes.NotFound)
}

func containerRemoveForces(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.IgnoreTerm)
	_, err := p.cri.RemoveContainer(t.Context(), &runtime.RemoveContainerRequest{ContainerId: id})
	wantSuccess(t, "remove", err)
	_, err = p.cri.ContainerStatus(t.Context(), &runtime.ContainerStatusRequest{ContainerId: id})
	wantCode(t, "status", err, codes.NotFound)
}

func containerRemoveIsIdempotent(t *testing.T, p *pod) {
	id := p.create(t, "main", p.Programs.Run)
	for range 2 {
		_, err := p.cri.RemoveContainer(t.Context(), &runtime.RemoveContainerRequest{ContainerId: id})
		wantSuccess(t, "remove", err)
	}
}

func logHasFormat(t *testing.T, p *pod) {
	p.start(t, "main", p.Programs.Hello)
	p.waitLog(t, "main", "hello")
	text := p.waitLog(t, "main", "oops")
	var got []string
	for line := range strings.Lines(text) {
		stamp, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if _, err := time.Parse(time.RFC3339Nano, stamp); err != nil {
			t.Errorf("time of line %q: %v", line, err)
		}
		got = append(got, rest)
	}
	// The streams are copied separately, so their order is open.
	wantSame(t, "lines", got, []string{"stdout F hello", "stderr F oops"})
}

func logIsReopened(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.Run)
	moved := p.logPath("main") + ".1"
	if err := os.Rename(p.logPath("main"), moved); err != nil {
		t.Fatal(err)
	}
	request := &runtime.ReopenContainerLogRequest{ContainerId: id}
	_, err := p.cri.ReopenContainerLog(t.Context(), request)
	wantSuccess(t, "reopen", err)
	if _, err := os.Stat(p.logPath("main")); err != nil {
		t.Errorf("the log after its reopening: %v", err)
	}
	wantSuccess(t, "stop", p.stop(t.Context(), id, 10))
	_, err = p.cri.ReopenContainerLog(t.Context(), request)
	wantFailure(t, "reopen the log of an exited container", err)
}
