package metrics

import (
	"io"
	"time"

	"github.com/google/cadvisor/lib/model"
)

// emit adds a sample: its value, and the values of its own labels.
type emit func(value float64, labels ...string)

// figure is a family of /metrics/cadvisor, with the function that reads its samples from a
// cgroup. Every sample has the labels of its cgroup too.
type figure struct {
	name, help string
	kind       kind
	labels     []string
	untimed    bool // samples have no time, as they do not change
	read       func(*model.ContainerInfo, *model.ContainerStats, emit)
}

// Cadvisor writes the body of /metrics/cadvisor: cgroups with at most one set of stats
// each, and the machine. whole reports that nothing is missing. With many pods the body is
// megabytes, so it is written family by family.
func Cadvisor(
	w io.Writer, cgroups []*model.ContainerInfo, machine *model.MachineInfo, version *model.VersionInfo, whole bool,
) error {
	bases := make([][]byte, len(cgroups))
	for i, c := range cgroups {
		bases[i] = baseLabels(c)
	}
	var room []byte
	for _, f := range figures() {
		of := f.family(cgroups, bases, room)
		if err := of.writeTo(w); err != nil {
			return err
		}
		room = of.lines[:0]
	}
	_, err := w.Write(text(machineFamilies(machine, version, whole)...))
	return err
}

// family returns the samples of all cgroups. bases holds the encoded labels of each, and room
// is a buffer to reuse.
func (f figure) family(cgroups []*model.ContainerInfo, bases [][]byte, room []byte) *family {
	of := &family{name: f.name, help: f.help, kind: f.kind, labels: f.labels, lines: room}
	var base []byte
	var at time.Time
	add := func(value float64, labels ...string) { of.addTo(base, value, at, labels) }
	for i, c := range cgroups {
		base = bases[i]
		switch {
		case f.untimed:
			f.read(c, nil, add)
		case len(c.Stats) > 0:
			at = c.Stats[0].Timestamp
			f.read(c, c.Stats[0], add)
		}
	}
	return of
}

// baseLabels returns the labels by which the kubelet names a cgroup.
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
		name: "cadvisor_version_info", kind: gauge,
		labels: []string{"kernelVersion", "osVersion", "dockerVersion", "cadvisorVersion", "cadvisorRevision"},
		help:   "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
	}
	about.add(1, time.Time{}, version.KernelVersion, version.ContainerOsVersion, version.DockerVersion,
		version.CadvisorVersion, version.CadvisorRevision)
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
