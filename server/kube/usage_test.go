package kube

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
)

var began = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// used returns the figures of a container that has used so much up to a second.
func used(second float64, cpu time.Duration, memory uint64) *nodev1.Usage {
	return &nodev1.Usage{
		Time: timestamppb.New(began.Add(time.Duration(second * float64(time.Second)))), CpuTime: durationpb.New(cpu), WorkingSetBytes: &memory,
	}
}

func podWith(containers ...*nodev1.ContainerStats) *nodev1.Stats {
	return &nodev1.Stats{Pods: []*nodev1.PodStats{{Uid: "u", Containers: containers}}}
}

func container(name string, usage *nodev1.Usage) *nodev1.ContainerStats {
	return &nodev1.ContainerStats{Name: name, Started: timestamppb.New(began), Usage: usage}
}

func TestAPodsUseLiesBetweenTwoFigures(t *testing.T) {
	later := container("a", used(1, time.Second, 9))
	later.Started = timestamppb.New(began.Add(time.Second))
	for _, c := range []struct {
		name       string
		begin, end *nodev1.Stats
		known      bool // nothing is left to wait for
		want       string
	}{
		{"half a core", podWith(container("a", used(0, time.Second, 9))), podWith(container("a", used(2, 2*time.Second, 2048))), true, "a 500m 2Ki 2s"},
		{"idle", podWith(container("a", used(0, time.Second, 9))), podWith(container("a", used(1, time.Second, 1024))), true, "a 0 1Ki 1s"},
		{"two containers, the older moment", podWith(container("a", used(0, 0, 9)), container("b", used(0, 0, 9))),
			podWith(container("a", used(2, time.Second, 1024)), container("b", used(1, time.Second, 1024))), true, "a 500m 1Ki b 1 1Ki 1s"},
		{"the same moment", podWith(container("a", used(0, time.Second, 9))), podWith(container("a", used(0, time.Second, 9))), false, ""},
		{"a container of two has none", podWith(container("a", used(0, 0, 9)), container("b", nil)),
			podWith(container("a", used(1, time.Second, 9)), container("b", nil)), true, ""},
		{"another run", podWith(container("a", used(0, time.Second, 9))), podWith(later), true, ""},
		{"less than before", podWith(container("a", used(0, time.Second, 9))), podWith(container("a", used(1, 0, 9))), true, ""},
		{"no memory", podWith(container("a", used(0, 0, 9))),
			podWith(container("a", &nodev1.Usage{Time: timestamppb.New(began.Add(time.Second)), CpuTime: durationpb.New(time.Second)})), true, ""},
		{"a new container", podWith(), podWith(container("a", used(1, 0, 9))), true, ""},
		{"a new pod", &nodev1.Stats{}, podWith(container("a", used(1, 0, 9))), true, ""},
		{"no containers", podWith(), podWith(), true, ""},
	} {
		s := span{c.begin, c.end}
		if got := s.known(); got != c.known {
			t.Errorf("%s: all is known: %v, want %v", c.name, got, c.known)
		}
		got := ""
		if made, ok := s.pod(c.end.GetPods()[0], s.before()); ok {
			for _, of := range made.Containers {
				got += of.Name + " " + of.Usage.Cpu().String() + " " + of.Usage.Memory().String() + " "
			}
			got += made.Window.Duration.String()
			if want := began.Add(made.Window.Duration); !made.Timestamp.Time.Equal(want) {
				t.Errorf("%s: the moment is %s, want %s", c.name, made.Timestamp, want)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
