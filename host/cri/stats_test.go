package cri_test

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
	sim "nodal/sim/cri"
)

func TestAPodThatGoesMeanwhileKeepsNoOtherBack(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		gone, _ := f.start()
		f.pod.Object.Name, f.pod.Object.UID = "stays", "uid-2"
		stays, _ := f.start()
		server.Inject(sim.Faults{Rules: []sim.Rule{
			{Method: "ListPodSandboxStats", Kind: sim.ErrorBefore, Code: codes.Unknown},
			{Method: "PodSandboxStats", Kind: sim.ErrorBefore, Code: codes.NotFound, Match: func(request any) bool {
				return request.(*runtimeapi.PodSandboxStatsRequest).PodSandboxId == gone
			}},
		}})
		got, err := f.cri.PodStats(f.Context())
		if err != nil || len(got) != 1 || got[0].GetAttributes().GetId() != stays {
			t.Fatalf("got %v and %v, want %s alone", got, err, stays)
		}
		if containers := got[0].GetLinux().GetContainers(); len(containers) != 1 {
			t.Errorf("got containers %v, want one", containers)
		}
	})
}

func TestARuntimeWithoutStatsSaysSo(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		f.start()
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "*Stats", Kind: sim.ErrorBefore, Code: codes.Unimplemented}}})
		if got, err := f.cri.PodStats(f.Context()); !errors.Is(err, node.ErrUnsupported) {
			t.Errorf("got %v and %v, want that it is not supported", got, err)
		}
	})
}

func TestStatsThatHangEndWithTheRequest(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		f.start()
		server.Inject(sim.Faults{Rules: []sim.Rule{{Method: "*Stats", Kind: sim.Hang}}})
		if got, err := f.cri.PodStats(f.Context()); !errors.Is(err, node.ErrUnavailable) {
			t.Errorf("got %v and %v, want that the runtime is out of reach", got, err)
		}
	})
}
