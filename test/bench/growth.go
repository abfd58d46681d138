package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/cadvisor/lib/model"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/stats"
	"nodal/node"
	"nodal/node/store"
	"nodal/server/metrics"
)

// growth measures the cost of stats for more and more pods, whose cgroups are plain files. It finds
// the power of their number with which the cost grows.
func (b *suite) growth(ctx context.Context) error {
	costs := make([]float64, len(b.sizes.growth))
	var seen []string
	for i, pods := range b.sizes.growth {
		dir, err := os.MkdirTemp("", "nodal-bench-")
		if err != nil {
			return fmt.Errorf("make room for cgroups: %w", err)
		}
		cost, err := costOf(ctx, pods, dir, b.sizes.repeats)
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return err
		}
		costs[i] = cost
		seen = append(seen, fmt.Sprintf("%.1f ms for %d", cost, pods))
	}
	b.notes = append(b.notes, "CPU to collect and write the figures of pods with made-up cgroups: "+strings.Join(seen, ", ")+".")
	b.add("figures of made-up pods: their cost grows with the number of pods to the power of", "", nodalOnly(power(b.sizes.growth, costs)), atMost(1.1, ""))
	return nil
}

// power is the slope of a straight line through the logarithms, by least squares.
func power(amounts []int, costs []float64) float64 {
	var x, y, xx, xy float64
	for i, amount := range amounts {
		across, up := math.Log(float64(amount)), math.Log(costs[i])
		x, y, xx, xy = x+across, y+up, xx+across*across, xy+across*up
	}
	n := float64(len(amounts))
	return (n*xy - x*y) / (n*xx - x*x)
}

// costOf returns the least CPU time, in milliseconds, that a full reading of a node's pods takes.
func costOf(ctx context.Context, pods int, dir string, repeats int) (float64, error) {
	if err := makeUp(dir, pods); err != nil {
		return 0, err
	}
	c := madeUpNode(dir, pods)
	least := math.Inf(1)
	for range repeats + 1 { // the first reading opens files
		before, err := ownTime()
		if err != nil {
			return 0, err
		}
		found, _ := c.Cgroups(ctx) // a node without images
		if len(found) < 3*pods {
			return 0, fmt.Errorf("found %d cgroups of %d pods", len(found), pods)
		}
		if err := metrics.Cadvisor(io.Discard, found, &model.MachineInfo{}, &model.VersionInfo{}, true); err != nil {
			return 0, err
		}
		after, err := ownTime()
		if err != nil {
			return 0, err
		}
		least = min(least, milliseconds(after-before))
		if err := pause(ctx, scrapePause); err != nil {
			return 0, err
		}
	}
	return least, nil
}

// ownTime returns the CPU time of this process.
func ownTime() (time.Duration, error) {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// madeUpFiles holds the files of a cgroup of version 1 without processes.
var madeUpFiles = [...][3]string{
	{"cpuacct", "cpuacct.usage", "3000000000\n"}, {"cpuacct", "cpuacct.stat", "user 200\nsystem 100\n"},
	{"cpu", "cpu.shares", "512\n"}, {"cpu", "cpu.cfs_quota_us", "-1\n"}, {"cpu", "cpu.cfs_period_us", "100000\n"}, {"cpu", "cgroup.procs", ""},
	{"memory", "memory.usage_in_bytes", "1000000\n"}, {"memory", "memory.limit_in_bytes", "9223372036854771712\n"},
	{"memory", "memory.stat", "cache 0\nrss 40960\ninactive_file 0\ntotal_cache 0\ntotal_rss 40960\ntotal_inactive_file 0\ntotal_pgfault 900\n"},
	{"memory", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"}, {"memory", "memory.max_usage_in_bytes", "2000000\n"},
	{"pids", "pids.current", "1\n"}, {"pids", "pids.max", "max\n"},
}

func makeUp(dir string, pods int) error {
	for i := range pods {
		pod := filepath.Join("kubepods", strconv.Itoa(i))
		for _, group := range []string{pod, filepath.Join(pod, "s"+strconv.Itoa(i)), filepath.Join(pod, "c"+strconv.Itoa(i))} {
			for _, file := range madeUpFiles {
				path := filepath.Join(dir, file[0], group, file[1])
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					return fmt.Errorf("make up a cgroup: %w", err)
				}
				if err := os.WriteFile(path, []byte(file[2]), 0o600); err != nil {
					return fmt.Errorf("make up a cgroup: %w", err)
				}
			}
		}
	}
	return nil
}

func madeUpNode(dir string, pods int) *stats.Collector {
	var views []store.View
	for i := range pods {
		uid := types.UID(strconv.Itoa(i))
		pod := &node.Pod{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-" + string(uid), Namespace: "default", UID: uid}}}
		views = append(views, store.View{Key: pod.Key(), Slot: &node.Slot{Pod: pod}, Got: &node.Observed{
			Sandboxes:  []node.Sandbox{{ID: "s" + string(uid), UID: uid, State: node.SandboxReady}},
			Containers: []node.Container{{ID: "c" + string(uid), UID: uid, Name: "main", State: node.ContainerRunning}},
		}})
	}
	in := stats.Cgroups{Version: 1, Dirs: map[string]string{}, Pod: func(p *corev1.Pod) string { return "/kubepods/" + string(p.UID) }}
	for _, controller := range []string{"cpu", "cpuacct", "memory", "pids"} {
		in.Dirs[controller] = filepath.Join(dir, controller)
	}
	return stats.New(stats.Config{Runtime: noRuntime{}, Cgroups: in, Views: func() ([]store.View, int64) { return views, 0 }, Root: dir})
}

// noRuntime knows no containers.
type noRuntime struct{}

var _ stats.Runtime = noRuntime{}

func (noRuntime) PodStats(context.Context) ([]*runtimev1.PodSandboxStats, error) { return nil, nil }
func (noRuntime) Layers(context.Context) ([]*runtimev1.ContainerStats, error)    { return nil, nil }
func (noRuntime) ImageUsage(context.Context) (*runtimev1.FilesystemUsage, error) {
	return &runtimev1.FilesystemUsage{}, nil
}
