package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/kubeletapi"
)

// scriptedStats reports what a test says.
type scriptedStats struct {
	kubeletapi.Stats // of which the API asks nothing else
	summary          *statsapi.Summary
	err              error
	past             map[string][]node.Usage
}

func (s scriptedStats) Summary(context.Context) (*statsapi.Summary, error) { return s.summary, s.err }

func (s scriptedStats) History(types.UID) map[string][]node.Usage { return s.past }

// withStats is a node on which pods web and db use something.
func withStats(t *testing.T) *node1 {
	used, cores := uint64(7), uint64(250_000_000)
	waits := statsapi.PSIStats{Some: statsapi.PSIData{Avg10: 12.5}}
	pod := func(name string) statsapi.PodStats {
		return statsapi.PodStats{
			PodRef:     statsapi.PodReference{Name: name, Namespace: "default", UID: "uid-1"},
			Containers: []statsapi.ContainerStats{{Name: "main", CPU: &statsapi.CPUStats{UsageNanoCores: &cores}, Memory: &statsapi.MemoryStats{WorkingSetBytes: &used}}},
		}
	}
	return newNode(t, func(cfg *Config) {
		cfg.Machine.Stats = scriptedStats{
			summary: &statsapi.Summary{Node: statsapi.NodeStats{NodeName: "node1", IO: &statsapi.IOStats{PSI: &waits}}, Pods: []statsapi.PodStats{pod("db"), pod("web")}},
			err:     errors.New("the disk hangs"),
			past:    map[string][]node.Usage{"main": {{At: testNow, CPU: time.Second, Cores: -1, WorkingSet: 7}, {At: testNow, Cores: 0.5}}},
		}
	})
}

func TestStatsOfTheAPI(t *testing.T) {
	n := withStats(t)
	n.apply(t, manifestOf("web"))
	for _, c := range []struct {
		name, path   string
		code         int
		has, without string
	}{
		{"the node and all pods", "/v1/stats", 200, `"cores":0.25`, "nothing"},
		{"what tasks wait for, as far as the kernel tells", "/v1/stats", 200, `"pressure":{"io":12.5}`, "nothing"},
		{"what could not be told", "/v1/stats", 200, `"missing":"the disk hangs"`, "nothing"},
		{"one pod", "/v1/stats?namespace=default&name=web", 200, `"web"`, `"db"`},
		{"another namespace", "/v1/stats?namespace=other", 200, `"node1"`, `"web"`},
		{"a name without its namespace", "/v1/stats?name=web", 400, "needs its namespace", "web\","},
		{"what a pod has used", "/v1/namespaces/default/pods/web/stats", 200, `"cpuTime":"1s","memoryBytes":"0","workingSetBytes":"7"},{`, `"cores":-1`},
		{"what no pod has used", "/v1/namespaces/default/pods/nobody/stats", 404, "nobody", "usages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, "GET", c.path, "")
			body := strings.ReplaceAll(got.body, ", ", ",")
			if got.status != c.code || !strings.Contains(body, c.has) || strings.Contains(body, c.without) {
				t.Errorf("got %d %s, want %d with %s", got.status, body, c.code, c.has)
			}
		})
	}
}

func TestStatsAreSentAtEachInterval(t *testing.T) {
	client := nodev1.NewStatsServiceClient(withStats(t).dial(t))
	stream, err := client.WatchStats(t.Context(), &nodev1.WatchStatsRequest{Namespace: "default", Name: "web", Interval: durationpb.New(leastStatsInterval)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := stream.Recv()
		if err != nil || len(got.GetStats().GetPods()) != 1 {
			t.Fatalf("got %v and %v, want figures of one pod", got, err)
		}
	}
	stream, err = client.WatchStats(t.Context(), &nodev1.WatchStatsRequest{Interval: durationpb.New(time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("each millisecond: got %v, want InvalidArgument", err)
	}
}
