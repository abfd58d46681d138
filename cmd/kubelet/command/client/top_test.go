package client

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	nodev1 "nodal/api/gen/node/v1"
)

func TestTopWaitsForTheUseOfCPUs(t *testing.T) {
	cores := 0.0126
	busy, idle := &nodev1.Usage{CpuTime: durationpb.New(time.Second)}, &nodev1.Usage{}
	read := &nodev1.Usage{CpuTime: durationpb.New(time.Second), Cores: &cores}
	for _, c := range []struct {
		name      string
		node, pod *nodev1.Usage
		want      bool
	}{
		{"all is read", read, read, true},
		{"the node is not", busy, read, false},
		{"a pod is not", read, busy, false},
		{"a pod has used nothing", read, idle, true},
		{"a pod has no figures", read, nil, true},
	} {
		if got := known(&nodev1.Stats{Node: &nodev1.NodeStats{Usage: c.node}, Pods: []*nodev1.PodStats{{Usage: c.pod}}}); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
	if got := millicores(read); got != "13m" {
		t.Errorf("got %s, want 13m", got)
	}
	if got := millicores(busy); got != "<unknown>" {
		t.Errorf("got %s, want that it is unknown", got)
	}
}
