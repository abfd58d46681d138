package kubeletapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/google/cadvisor/lib/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
	"nodal/server/auth"
	"nodal/server/metrics"
	"nodal/server/wire"
)

// Stats reports the usage of the node and its pods. With an error the summary, if there is one,
// lacks what the error names. The summary is shared: do not write to it.
type Stats interface {
	Summary(context.Context) (*statsapi.Summary, error)
	// Usage returns a summary of CPU and memory alone, which takes less time.
	Usage(context.Context) (*statsapi.Summary, error)
	// Cgroups describes each cgroup in cAdvisor's terms. The result is shared too.
	Cgroups(context.Context) ([]*model.ContainerInfo, error)
	// Machine describes the node's hardware.
	Machine() (*model.MachineInfo, error)
}

// Figures serves metrics and stats.
type Figures struct {
	Stats   Stats
	Agent   http.Handler // writes the metrics of the agent itself
	Probes  func() []*node.ProbeCount
	Machine Machine
	Log     *slog.Logger
}

// Machine holds the facts of the machine that cAdvisor's metrics state.
type Machine struct {
	MachineID     string
	BootID        string
	SystemUUID    string
	KernelVersion string
	OSImage       string
	Version       string // of the agent
}

func (f Figures) agent(w http.ResponseWriter, r *http.Request) { f.Agent.ServeHTTP(w, r) }

// ask returns stats. If some figures are missing, it logs that and returns the others.
func (f Figures) ask(
	w http.ResponseWriter, r *http.Request, of func(context.Context) (*statsapi.Summary, error),
) (found *statsapi.Summary, whole bool) {
	found, err := of(r.Context())
	if found == nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return nil, false
	}
	if err != nil {
		f.Log.WarnContext(r.Context(), "some stats are missing", "err", err)
	}
	return found, err == nil
}

// summary answers /stats/summary.
func (f Figures) summary(w http.ResponseWriter, r *http.Request) {
	few := r.URL.Query().Get("only_cpu_and_memory") == "true"
	of := f.Stats.Summary
	if few {
		of = f.Stats.Usage
	}
	found, _ := f.ask(w, r, of)
	if found == nil {
		return
	}
	if few {
		found = cpuAndMemory(found)
	}
	body, err := json.Marshal(seenBy(r.Context(), found))
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	wire.WriteJSON(w, body)
}

// seenBy leaves out the figures of pods that the caller does not see, and those of the node for a caller that does not
// see all of them.
func seenBy(ctx context.Context, whole *statsapi.Summary) *statsapi.Summary {
	if auth.RequireNode(ctx) == nil {
		return whole
	}
	seen := &statsapi.Summary{Node: statsapi.NodeStats{NodeName: whole.Node.NodeName}, Pods: []statsapi.PodStats{}}
	for _, p := range whole.Pods {
		if auth.Sees(ctx, p.PodRef.Namespace) {
			seen.Pods = append(seen.Pods, p)
		}
	}
	return seen
}

// cpuAndMemory leaves out the figures that autoscalers do not read.
func cpuAndMemory(whole *statsapi.Summary) *statsapi.Summary {
	few := &statsapi.Summary{
		Node: statsapi.NodeStats{
			NodeName: whole.Node.NodeName, StartTime: whole.Node.StartTime, CPU: whole.Node.CPU, Memory: whole.Node.Memory,
			SystemContainers: cpuAndMemoryOf(whole.Node.SystemContainers),
		},
		Pods: make([]statsapi.PodStats, 0, len(whole.Pods)),
	}
	for _, p := range whole.Pods {
		few.Pods = append(few.Pods, statsapi.PodStats{
			PodRef: p.PodRef, StartTime: p.StartTime, CPU: p.CPU, Memory: p.Memory, Containers: cpuAndMemoryOf(p.Containers),
		})
	}
	return few
}

func cpuAndMemoryOf(containers []statsapi.ContainerStats) []statsapi.ContainerStats {
	few := make([]statsapi.ContainerStats, 0, len(containers))
	for _, c := range containers {
		few = append(few, statsapi.ContainerStats{Name: c.Name, StartTime: c.StartTime, CPU: c.CPU, Memory: c.Memory})
	}
	return few
}

// resource answers /metrics/resource.
func (f Figures) resource(w http.ResponseWriter, r *http.Request) {
	found, whole := f.ask(w, r, f.Stats.Usage)
	if found == nil {
		return
	}
	writeMetrics(w, metrics.Resource(found, whole))
}

// cadvisor answers /metrics/cadvisor.
func (f Figures) cadvisor(w http.ResponseWriter, r *http.Request) {
	machine, err := f.Stats.Machine()
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	machine.MachineID, machine.BootID, machine.SystemUUID = f.Machine.MachineID, f.Machine.BootID, f.Machine.SystemUUID
	version := &model.VersionInfo{
		KernelVersion: f.Machine.KernelVersion, ContainerOsVersion: f.Machine.OSImage,
		CadvisorVersion: "nodal " + f.Machine.Version,
	}
	found, err := f.Stats.Cgroups(r.Context())
	if err != nil {
		f.Log.WarnContext(r.Context(), "some stats are missing", "err", err)
	}
	metricsHeader(w)
	_ = metrics.Cadvisor(w, found, machine, version, err == nil) // a client that is gone gets no error
}

// probes answers /metrics/probes.
func (f Figures) probes(w http.ResponseWriter, _ *http.Request) {
	writeMetrics(w, metrics.Probes(f.Probes()))
}

func writeMetrics(w http.ResponseWriter, body []byte) {
	metricsHeader(w)
	_, _ = w.Write(body) // a client that is gone gets no error
}

func metricsHeader(w http.ResponseWriter) {
	w.Header().Set("Content-Type", metrics.ContentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
}
