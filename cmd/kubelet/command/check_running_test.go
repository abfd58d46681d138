package command

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"nodal/agent/config"
	nodev1 "nodal/api/gen/node/v1"
)

func TestCheckNamesWhatWaitsForARestartOfTheRunningNode(t *testing.T) {
	setting := func(name, source string, value any) *nodev1.NodeSetting {
		v, err := structpb.NewValue(value)
		if err != nil {
			t.Fatal(err)
		}
		return &nodev1.NodeSetting{Name: name, Source: source, Value: v}
	}
	running := []*nodev1.NodeSetting{
		setting("port", "/etc/kubelet.yaml", 10250), setting("readOnlyPort", "--read-only-port", 10255),
		setting("maxPods", "", 110), setting("clusterDNS", "", []any{"10.0.0.10"}), setting("--root-dir", "", "/srv"),
		setting("evictionHard", "", map[string]any{"a": "1"}), setting("other", "", 1),
	}
	got := waiting(running, []config.Told{
		{Name: "port", Value: []byte("10260")}, {Name: "readOnlyPort", Value: []byte("0")},
		{Name: "maxPods", Value: []byte("5"), TakenBy: config.PartOffer}, {Name: "clusterDNS", Value: []byte(`["10.0.0.10"]`)},
		{Name: "--root-dir", Value: []byte(`"/other"`)},
		{Name: "evictionHard", Value: []byte(`{"a":"2"}`), TakenBy: config.PartEviction}, {Name: "other", Source: "--other", Value: []byte("2")},
	})
	var names []string
	for _, f := range got {
		names = append(names, f.Name+": "+f.Problem)
	}
	if want := []string{"port: the running node has 10250, and these files want 10260"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
