package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/google/cadvisor/lib/model"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
	"nodal/server/metrics"
	"nodal/server/wire"
)

// Stats reports the usage of the node and its pods. With an error the summary, if there is one,
// lacks what the error names. The summary is shared: do not write to it.
type Stats interface {
	Summary(context.Context) (*statsapi.Summary, error)
	// Usage is a summary of processors and memory, which are found out sooner.
	Usage(context.Context) (*statsapi.Summary, error)
	// History returns the past usage of a pod's containers, oldest first, for the time in
	// which usage was asked for.
	History(types.UID) map[string][]node.Usage
	// Cgroups describes each cgroup in cAdvisor's terms. The result is shared too.
	Cgroups(context.Context) ([]*model.ContainerInfo, error)
	// Machine describes the node's hardware.
	Machine() (*model.MachineInfo, error)
}

// ask asks for stats. Figures that are missing do not keep the others back.
func (k *kubelet) ask(w http.ResponseWriter, r *http.Request, of func(context.Context) (*statsapi.Summary, error)) (found *statsapi.Summary, whole bool) {
	found, err := of(r.Context())
	if found == nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return nil, false
	}
	if err != nil {
		k.log.WarnContext(r.Context(), "some stats are missing", "err", err)
	}
	return found, err == nil
}

// statsSummary is /stats/summary.
func (k *kubelet) statsSummary(w http.ResponseWriter, r *http.Request) {
	few := r.URL.Query().Get("only_cpu_and_memory") == "true"
	of := k.stats.Summary
	if few {
		of = k.stats.Usage
	}
	found, _ := k.ask(w, r, of)
	if found == nil {
		return
	}
	if few {
		found = onlyCPUAndMemory(found)
	}
	body, err := json.Marshal(found)
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	wire.WriteJSON(w, body)
}

// onlyCPUAndMemory leaves out what autoscalers do not read.
func onlyCPUAndMemory(whole *statsapi.Summary) *statsapi.Summary {
	few := &statsapi.Summary{
		Node: statsapi.NodeStats{
			NodeName: whole.Node.NodeName, StartTime: whole.Node.StartTime, CPU: whole.Node.CPU, Memory: whole.Node.Memory,
			SystemContainers: fewOf(whole.Node.SystemContainers),
		},
		Pods: make([]statsapi.PodStats, 0, len(whole.Pods)),
	}
	for _, p := range whole.Pods {
		few.Pods = append(few.Pods, statsapi.PodStats{
			PodRef: p.PodRef, StartTime: p.StartTime, CPU: p.CPU, Memory: p.Memory, Containers: fewOf(p.Containers),
		})
	}
	return few
}

func fewOf(containers []statsapi.ContainerStats) []statsapi.ContainerStats {
	few := make([]statsapi.ContainerStats, 0, len(containers))
	for _, c := range containers {
		few = append(few, statsapi.ContainerStats{Name: c.Name, StartTime: c.StartTime, CPU: c.CPU, Memory: c.Memory})
	}
	return few
}

// resourceMetrics is /metrics/resource.
func (k *kubelet) resourceMetrics(w http.ResponseWriter, r *http.Request) {
	found, whole := k.ask(w, r, k.stats.Usage)
	if found == nil {
		return
	}
	writeMetrics(w, metrics.Resource(found, whole))
}

// cadvisorMetrics is /metrics/cadvisor.
func (k *kubelet) cadvisorMetrics(w http.ResponseWriter, r *http.Request) {
	machine, err := k.stats.Machine()
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	machine.MachineID, machine.BootID, machine.SystemUUID = k.facts.MachineID, k.facts.BootID, k.facts.SystemUUID
	version := &model.VersionInfo{
		KernelVersion: k.facts.KernelVersion, ContainerOsVersion: k.facts.OSImage, CadvisorVersion: "nodal " + k.facts.Version,
	}
	found, err := k.stats.Cgroups(r.Context())
	if err != nil {
		k.log.WarnContext(r.Context(), "some stats are missing", "err", err)
	}
	metricsHeader(w)
	_ = metrics.Cadvisor(w, found, machine, version, err == nil) // who does not read it cannot be told
}

// probeMetrics is /metrics/probes.
func (k *kubelet) probeMetrics(w http.ResponseWriter, _ *http.Request) {
	writeMetrics(w, metrics.Probes(k.probes()))
}

func writeMetrics(w http.ResponseWriter, body []byte) {
	metricsHeader(w)
	_, _ = w.Write(body) // who does not read it cannot be told
}

func metricsHeader(w http.ResponseWriter) {
	w.Header().Set("Content-Type", metrics.ContentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
}
