package conformance

import (
	"maps"
	"net/netip"
	"testing"

	"google.golang.org/grpc/codes"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const missingID = "0000000000000000000000000000000000000000000000000000000000000000"

func sandboxIsReady(t *testing.T, p *pod) {
	got := p.sandboxStatus(t)
	if got.GetState() != runtime.PodSandboxState_SANDBOX_READY {
		t.Errorf("state: got %s, want ready", got.GetState())
	}
	if _, err := netip.ParseAddr(got.GetNetwork().GetIp()); err != nil {
		t.Errorf("address: %v", err)
	}
	if got.GetCreatedAt() == 0 {
		t.Error("created at: got 0, want a time")
	}
}

func sandboxNameIsReserved(t *testing.T, p *pod) {
	request := &runtime.RunPodSandboxRequest{Config: p.config}
	_, err := p.cri.RunPodSandbox(t.Context(), request)
	wantFailure(t, "run a second sandbox of one name and attempt", err)

	p.removeSandbox(t)
	p.id = p.runSandbox(t)

	p.config.Metadata.Attempt = 1
	p.runSandbox(t)
}

func sandboxRunsOnce(t *testing.T, p *pod) {
	p.config.Metadata.Attempt = 1
	request := &runtime.RunPodSandboxRequest{Config: p.config}
	answers := make(chan *runtime.RunPodSandboxResponse, 2)
	for range cap(answers) {
		go func() {
			response, err := p.cri.RunPodSandbox(t.Context(), request)
			if err != nil {
				response = nil
			}
			answers <- response
		}()
	}
	first, second := <-answers, <-answers
	if (first == nil) == (second == nil) {
		t.Errorf("got %v and %v, want one sandbox and one error", first, second)
	}
	for _, response := range []*runtime.RunPodSandboxResponse{first, second} {
		if response != nil {
			p.id = response.GetPodSandboxId()
			p.removeSandbox(t)
		}
	}
}

func (p *pod) stopSandbox(t *testing.T) {
	t.Helper()
	_, err := p.cri.StopPodSandbox(t.Context(), &runtime.StopPodSandboxRequest{PodSandboxId: p.id})
	wantSuccess(t, "stop sandbox", err)
}

func (p *pod) removeSandbox(t *testing.T) {
	t.Helper()
	_, err := p.cri.RemovePodSandbox(t.Context(), &runtime.RemovePodSandboxRequest{PodSandboxId: p.id})
	wantSuccess(t, "remove sandbox", err)
}

func sandboxKeepsLabels(t *testing.T, p *pod) {
	got := p.sandboxStatus(t)
	if !maps.Equal(got.GetLabels(), p.config.GetLabels()) {
		t.Errorf("labels: got %v, want %v", got.GetLabels(), p.config.GetLabels())
	}
	if !maps.Equal(got.GetAnnotations(), p.config.GetAnnotations()) {
		t.Errorf("annotations: got %v, want %v", got.GetAnnotations(), p.config.GetAnnotations())
	}
	if got, want := got.GetMetadata().String(), p.config.GetMetadata().String(); got != want {
		t.Errorf("metadata: got %s, want %s", got, want)
	}
}

func sandboxesAreFiltered(t *testing.T, p *pod) {
	first := p.id
	p.config.Metadata.Attempt = 1
	second := p.runSandbox(t)
	p.stopSandbox(t)
	label := p.config.GetLabels()
	state := func(s runtime.PodSandboxState) *runtime.PodSandboxStateValue {
		return &runtime.PodSandboxStateValue{State: s}
	}
	for _, c := range []struct {
		name   string
		filter *runtime.PodSandboxFilter
		want   []string
	}{
		{"by label", &runtime.PodSandboxFilter{LabelSelector: label}, []string{first, second}},
		{"by id", &runtime.PodSandboxFilter{Id: first}, []string{first}},
		{"by missing id", &runtime.PodSandboxFilter{Id: missingID}, nil},
		{"by label and ready", &runtime.PodSandboxFilter{
			LabelSelector: label, State: state(runtime.PodSandboxState_SANDBOX_READY)}, []string{second}},
		{"by label and not ready", &runtime.PodSandboxFilter{
			LabelSelector: label, State: state(runtime.PodSandboxState_SANDBOX_NOTREADY)}, []string{first}},
		{"by another value of the label", &runtime.PodSandboxFilter{
			LabelSelector: map[string]string{"case": "other"}}, nil},
	} {
		response, err := p.cri.ListPodSandbox(t.Context(), &runtime.ListPodSandboxRequest{Filter: c.filter})
		wantSuccess(t, c.name, err)
		var got []string
		for _, item := range response.GetItems() {
			got = append(got, item.GetId())
		}
		wantSame(t, c.name, got, c.want)
	}
}

func sandboxStopKills(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.IgnoreTerm)
	p.stopSandbox(t)
	wantExit(t, p.status(t, id), 137, "Error")
	got := p.sandboxStatus(t)
	if got.GetState() != runtime.PodSandboxState_SANDBOX_NOTREADY {
		t.Errorf("state: got %s, want not ready", got.GetState())
	}
	if ip := got.GetNetwork().GetIp(); ip != "" {
		t.Errorf("address: got %s, want none", ip)
	}
}

func sandboxStopIsIdempotent(t *testing.T, p *pod) {
	p.stopSandbox(t)
	p.stopSandbox(t)
	p.removeSandbox(t)
	p.removeSandbox(t)
}

func sandboxRemoveForces(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.IgnoreTerm)
	p.removeSandbox(t)
	_, err := p.cri.ContainerStatus(t.Context(), &runtime.ContainerStatusRequest{ContainerId: id})
	wantCode(t, "status of the container", err, codes.NotFound)
	_, err = p.cri.PodSandboxStatus(t.Context(), &runtime.PodSandboxStatusRequest{PodSandboxId: p.id})
	wantCode(t, "status of the sandbox", err, codes.NotFound)
}

func sandboxMissing(t *testing.T, p *pod) {
	_, err := p.cri.PodSandboxStatus(t.Context(), &runtime.PodSandboxStatusRequest{PodSandboxId: missingID})
	wantCode(t, "status", err, codes.NotFound)
}

func stoppedSandboxTakesNoContainer(t *testing.T, p *pod) {
	p.stopSandbox(t)
	_, err := p.cri.CreateContainer(t.Context(), p.request("main", p.Programs.Run))
	wantFailure(t, "create", err)
}
