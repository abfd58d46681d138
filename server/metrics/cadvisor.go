package metrics

import (
	"time"

	"github.com/google/cadvisor/lib/model"
)

// emit takes a sample's value, and those of its own labels.
type emit func(value float64, labels ...string)

// figure is a family of /metrics/cadvisor and how its samples come out of what is
// known of a cgroup. Every sample has the labels of its cgroup too.
type figure struct {
	name, help string
	kind       kind
	labels     []string
	untimed    bool // it is about the cgroup, not about a moment
	read       func(*model.ContainerInfo, *model.ContainerStats, emit)
}

// Cadvisor is the body of /metrics/cadvisor: cgroups with at most one set of stats
// each, and the machine. Whole says that nothing is missing.
func Cadvisor(cgroups []*model.ContainerInfo, machine *model.MachineInfo, version *model.VersionInfo, whole bool) []byte {
	figures := figures()
	families := make([]*family, len(figures), len(figures)+12)
	for i, f := range figures {
		families[i] = &family{name: f.name, help: f.help, kind: f.kind, labels: f.labels}
	}
	for _, c := range cgroups {
		base := baseLabels(c)
		for i, f := range figures {
			var at time.Time
			stats := &model.ContainerStats{}
			if len(c.Stats) > 0 {
				stats = c.Stats[0]
			} else if !f.untimed {
				continue
			}
			if !f.untimed {
				at = stats.Timestamp
			}
			f.read(c, stats, func(value float64, labels ...string) { families[i].addTo(base, value, at, labels) })
		}
	}
	return text(append(families, machineFamilies(machine, version, whole)...)...)
}

// baseLabels are the kubelet's names for a cgroup.
func baseLabels(c *model.ContainerInfo) []byte {
	name := ""
	if len(c.Aliases) > 0 {
		name = c.Aliases[0]
	}
	of := c.Spec.Labels
	var line []byte
	for _, l := range [][2]string{
		{"container", of["io.kubernetes.container.name"]}, {"id", c.Name}, {"image", c.Spec.Image}, {"name", name},
		{"namespace", of["io.kubernetes.pod.namespace"]}, {"pod", of["io.kubernetes.pod.name"]},
	} {
		line = appendLabel(line, l[0], l[1])
	}
	return line
}

func machineFamilies(machine *model.MachineInfo, version *model.VersionInfo, whole bool) []*family {
	one := func(name, help string, value float64) *family {
		f := &family{name: name, help: help, kind: gauge}
		f.add(value, time.Time{})
		return f
	}
	of := func(name, help string, value float64) *family {
		f := &family{name: name, help: help, kind: gauge, labels: []string{"boot_id", "machine_id", "system_uuid"}}
		f.add(value, time.Time{}, machine.BootID, machine.MachineID, machine.SystemUUID)
		return f
	}
	failed := 0.0
	if !whole {
		failed = 1
	}
	about := &family{
		name: "cadvisor_version_info", kind: gauge, labels: []string{"kernelVersion", "osVersion", "dockerVersion", "cadvisorVersion", "cadvisorRevision"},
		help: "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
	}
	about.add(1, time.Time{}, version.KernelVersion, version.ContainerOsVersion, version.DockerVersion, version.CadvisorVersion, version.CadvisorRevision)
	return []*family{
		about,
		one("container_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise", failed),
		of("machine_cpu_cores", "Number of logical CPU cores.", float64(machine.NumCores)),
		of("machine_cpu_physical_cores", "Number of physical CPU cores.", float64(machine.NumPhysicalCores)),
		of("machine_cpu_sockets", "Number of CPU sockets.", float64(machine.NumSockets)),
		of("machine_memory_bytes", "Amount of memory installed on the machine.", float64(machine.MemoryCapacity)),
		of("machine_swap_bytes", "Amount of swap memory available on the machine.", float64(machine.SwapCapacity)),
		one("machine_scrape_error", "1 if there was an error while getting machine metrics, 0 otherwise.", 0),
	}
}
