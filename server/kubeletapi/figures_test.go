package kubeletapi

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/cadvisor/lib/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// scriptedStats tells what a test wants.
type scriptedStats struct {
	summary *statsapi.Summary
	err     error
	cgroups []*model.ContainerInfo
}

func (s scriptedStats) Summary(context.Context) (*statsapi.Summary, error) { return s.summary, s.err }

func (s scriptedStats) Usage(context.Context) (*statsapi.Summary, error) { return s.summary, s.err }

func (s scriptedStats) Cgroups(context.Context) ([]*model.ContainerInfo, error) {
	return s.cgroups, s.err
}

func (s scriptedStats) Machine() (*model.MachineInfo, error) {
	return &model.MachineInfo{NumCores: 3}, nil
}

func TestStatsAreShown(t *testing.T) {
	bytes := uint64(7)
	summary := &statsapi.Summary{
		Node: statsapi.NodeStats{NodeName: "node1", Memory: &statsapi.MemoryStats{WorkingSetBytes: &bytes}, Fs: &statsapi.FsStats{UsedBytes: &bytes}},
		Pods: []statsapi.PodStats{{PodRef: statsapi.PodReference{Name: "web", Namespace: "default"}, Containers: []statsapi.ContainerStats{}}},
	}
	broken := errors.New("the runtime hangs")
	for _, c := range []struct {
		name         string
		stats        scriptedStats
		method, path string
		code         int
		has, hasNot  string
	}{
		{"all", scriptedStats{summary: summary}, "GET", "/stats/summary", 200, `"fs":{`, "nothing"},
		{"all, by POST", scriptedStats{summary: summary}, "POST", "/stats/summary", 200, `"fs":{`, "nothing"},
		{"processor and memory alone", scriptedStats{summary: summary}, "GET", "/stats/summary?only_cpu_and_memory=true", 200, `"workingSetBytes":7`, `"fs"`},
		{"what is there when something is missing", scriptedStats{summary: summary, err: broken}, "GET", "/stats/summary", 200, `"name":"web"`, "hangs"},
		{"why there is nothing", scriptedStats{err: broken}, "GET", "/stats/summary", 500, "the runtime hangs", "{"},
		{"metrics", scriptedStats{summary: summary}, "GET", "/metrics/resource", 200, "resource_scrape_error 0", "scrape_error 1"},
		{"metrics of cgroups", scriptedStats{cgroups: []*model.ContainerInfo{{ContainerReference: model.ContainerReference{Name: "/kubepods"}}}}, "GET", "/metrics/cadvisor", 200,
			`container_start_time_seconds{container="",id="/kubepods",`, "\ncontainer_scrape_error 1"},
		{"metrics of cgroups that are not all there", scriptedStats{err: broken}, "GET", "/metrics/cadvisor", 200, "\ncontainer_scrape_error 1", "kubepods"},
		{"metrics of which some are missing", scriptedStats{summary: summary, err: broken}, "GET", "/metrics/resource", 200, "resource_scrape_error 1", "scrape_error 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serve(needs(func(cfg *Config) { cfg.Figures.Stats = c.stats }))
			code, body := ask(t, h, c.method, c.path, "")
			if code != c.code || !strings.Contains(body, c.has) || strings.Contains(body, c.hasNot) {
				t.Errorf("got %d %s", code, body)
			}
		})
	}
}
