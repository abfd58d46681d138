package stats

import (
	"bytes"
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cadvisor/lib/model"
	"golang.org/x/sys/unix"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	kubelettypes "k8s.io/kubelet/pkg/types"
)

// Cgroups returns the figures of the node as a whole, of the cgroups that pods share, and of the cgroups of each pod
// and its containers, in cAdvisor's terms. Callers share it like a summary. Figures that are in a summary too may be
// three seconds old.
func (c *Collector) Cgroups(ctx context.Context) ([]*model.ContainerInfo, error) {
	return c.cgroups.get(ctx)
}

// collectCgroups adds the figures that cost more to the figures of a summary.
func (c *Collector) collectCgroups(ctx context.Context) ([]*model.ContainerInfo, error) {
	found, err := c.whole.get(ctx)
	if found == nil {
		return nil, err
	}
	infos := append([]*model.ContainerInfo{nodeInfo(found)}, c.runtimeInfos(found)...)
	read := part{"cgroups", func(context.Context) (func(*collection), error) {
		of := c.groupInfos(found)
		return func(*collection) { infos = append(infos, of...) }, nil
	}}
	return infos, errors.Join(err, c.all.read(ctx, []part{read}, found))
}

func (c *Collector) groupInfos(found *collection) []*model.ContainerInfo {
	r := newReader()
	var all []*model.ContainerInfo
	for _, g := range c.sharedGroups(found.groups) {
		if counts := g.usage(r); counts != nil {
			all = append(all, infoOf(r, g, counts))
		}
	}
	infos := make([][]*model.ContainerInfo, len(found.groups))
	each(len(infos), func(r *reader, i int) { infos[i] = c.podInfos(r, &found.groups[i], found) })
	return append(all, slices.Concat(infos...)...)
}

// sharedGroups returns the cgroups above those of pods.
func (c *Collector) sharedGroups(pods []podGroups) []*group {
	var shared []*group
	seen := map[string]bool{}
	for i := range pods {
		for above := path.Dir(pods[i].whole.path); above != "/" && above != "." && !seen[above]; above = path.Dir(above) {
			seen[above] = true
			shared = append(shared, c.tree.group(above))
		}
	}
	return shared
}

func infoOf(r *reader, g *group, counts *counted) *model.ContainerInfo {
	spec := g.limits(r)
	return &model.ContainerInfo{
		ContainerReference: model.ContainerReference{Name: g.path}, Spec: spec, Stats: []*model.ContainerStats{g.all(r, counts.ContainerStats, spec)},
	}
}

// podInfos describes a pod, its sandbox and its containers.
func (c *Collector) podInfos(r *reader, of *podGroups, found *collection) []*model.ContainerInfo {
	o := of.pod.Object
	rest := found.rests[string(o.UID)]
	if rest == nil {
		rest = &podRest{} // it could not be read
	}
	pod := infoOf(r, of.whole, of.counts)
	pod.Spec.CreationTime = of.pod.Begun()
	pod.Spec.Labels = map[string]string{kubelettypes.KubernetesPodNameLabel: o.Name, kubelettypes.KubernetesPodNamespaceLabel: o.Namespace}
	infos := []*model.ContainerInfo{pod}
	if of.sandbox != nil {
		if counts := of.sandbox.usage(r); counts != nil {
			sandbox := c.runInfo(r, of.sandbox, counts, rest)
			sandbox.Spec.CreationTime, sandbox.Spec.Labels = of.sandbox.created, pod.Spec.Labels
			if rest.interfaces != nil {
				sandbox.Stats[0].Network = &model.NetworkStats{Interfaces: rest.interfaces}
			}
			infos = append(infos, sandbox)
		}
	}
	for i := range of.runs {
		run := &of.runs[i]
		if run.counts == nil {
			continue
		}
		info := c.runInfo(r, run, run.counts, rest)
		info.Spec.Image, info.Spec.CreationTime, info.Spec.StartTime = run.run.Image, run.run.CreatedAt, run.run.StartedAt
		info.Spec.Labels = map[string]string{
			kubelettypes.KubernetesPodNameLabel: o.Name, kubelettypes.KubernetesPodNamespaceLabel: o.Namespace,
			kubelettypes.KubernetesContainerNameLabel: run.run.Name,
		}
		info.Stats[0].Filesystem = found.written(string(o.UID), run.run.Name)
		infos = append(infos, info)
	}
	return infos
}

// written returns the writable layer of a container as a file system, if it has been measured.
func (c *collection) written(uid, name string) []model.FsStats {
	layer := c.layers[[2]string{uid, name}]
	if c.containerDisk == nil || layer == nil || layer.UsedBytes == nil {
		return nil
	}
	own := *c.containerDisk
	own.Usage = *layer.UsedBytes
	return []model.FsStats{own}
}

// runInfo describes a container or a sandbox, with the open files of its processes.
func (c *Collector) runInfo(r *reader, of *runGroup, counts *counted, rest *podRest) *model.ContainerInfo {
	pids := rest.processes[of.id]
	info := infoOf(r, of.group, counts)
	info.Aliases = []string{of.id}
	processes := info.Stats[0].Processes
	processes.ProcessCount = uint64(len(pids))
	for _, pid := range pids {
		files, sockets := openFiles(r, filepath.Join(c.config.Proc, pid, "fd"))
		processes.FdCount += files
		processes.SocketCount += sockets
	}
	if len(pids) > 0 {
		processes.Ulimits = of.ulimitsOf(pids[0], func() []model.UlimitSpec { return c.openFilesLimit(r, pids[0]) })
	}
	return info
}

// openFiles counts the open files and sockets of a process. A process that has ended has none.
func openFiles(r *reader, dir string) (files, sockets uint64) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // os.Open would register it with the poller
	if err != nil {
		return 0, 0
	}
	defer unix.Close(fd)
	for {
		n, err := unix.ReadDirent(fd, r.room)
		if err != nil || n <= 0 {
			return files, sockets // those that there were
		}
		_, count, names := unix.ParseDirent(r.room[:n], -1, nil)
		files += uint64(count)
		for _, name := range names {
			n, err := unix.Readlinkat(fd, name, r.room)
			if err == nil && bytes.HasPrefix(r.room[:n], []byte("socket:")) {
				sockets++
			}
		}
	}
}

// ulimits are those of a process, which seldom change.
type ulimits struct {
	pid   string
	at    time.Time
	specs []model.UlimitSpec
}

// ulimitsOf returns the ulimits of a process. It keeps them for limitsAge, and then reads them again.
func (g *group) ulimitsOf(pid string, read func() []model.UlimitSpec) []model.UlimitSpec {
	g.mu.Lock()
	known := g.ulimits
	g.mu.Unlock()
	if known.pid == pid && time.Since(known.at) < limitsAge {
		return known.specs
	}
	known = ulimits{pid: pid, at: time.Now(), specs: read()}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ulimits = known
	return known.specs
}

// openFilesLimit reads the limit of open files of a process.
func (c *Collector) openFilesLimit(r *reader, pid string) []model.UlimitSpec {
	text, err := r.read(filepath.Join(c.config.Proc, pid, "limits"))
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(text) {
		after, ok := bytes.CutPrefix(line, []byte("Max open files"))
		if fields := strings.Fields(string(after)); ok && len(fields) > 1 {
			soft, err := strconv.ParseInt(fields[0], 10, 64)
			if err != nil {
				soft = -1 // unlimited
			}
			return []model.UlimitSpec{{Name: "max_open_files", SoftLimit: soft}}
		}
	}
	return nil
}

// nodeInfo describes the node as the root cgroup. It has no spec, because the root
// cgroup lacks many of the kernel's counters.
func nodeInfo(found *collection) *model.ContainerInfo {
	n := found.Node
	s := &model.ContainerStats{Timestamp: time.Now()}
	if n.CPU != nil {
		s.Timestamp = n.CPU.Time.Time
		s.Cpu = &model.CpuStats{Usage: found.cpu, PSI: psiOrNone(n.CPU.PSI)}
	}
	s.Memory = fewOfMemory(n.Memory)
	if n.Swap != nil && s.Memory != nil {
		s.Memory.Swap = *n.Swap.SwapUsageBytes
	}
	if n.Network != nil {
		s.Network = &model.NetworkStats{Interfaces: found.interfaces}
	}
	s.Filesystem = found.disks
	spec := model.ContainerSpec{CreationTime: n.StartTime.Time}
	return &model.ContainerInfo{ContainerReference: model.ContainerReference{Name: "/"}, Spec: spec, Stats: []*model.ContainerStats{s}}
}

// fewOfMemory translates the node's memory figures into cAdvisor's. It returns nil unless usage,
// working set and RSS are all known.
func fewOfMemory(m *statsapi.MemoryStats) *model.MemoryStats {
	if m == nil || m.UsageBytes == nil || m.WorkingSetBytes == nil || m.RSSBytes == nil {
		return nil
	}
	return &model.MemoryStats{Usage: *m.UsageBytes, WorkingSet: *m.WorkingSetBytes, RSS: *m.RSSBytes, PSI: psiOrNone(m.PSI)}
}

func psiOrNone(psi *statsapi.PSIStats) model.PSIStats {
	if psi == nil {
		return model.PSIStats{}
	}
	return model.PSIStats{Full: model.PSIData(psi.Full), Some: model.PSIData(psi.Some)}
}
