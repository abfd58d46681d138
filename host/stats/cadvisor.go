package stats

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cadvisor/lib/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	kubelettypes "k8s.io/kubelet/pkg/types"
)

// Cgroups is all that is known of the node as a whole, of the cgroups that pods share,
// and of each pod's and its containers', in cAdvisor's words. It is shared like a
// summary.
func (c *Collector) Cgroups(ctx context.Context) ([]*model.ContainerInfo, error) {
	return c.cgroups.get(ctx)
}

// collectCgroups adds to the figures that the summary has what costs more to find out.
func (c *Collector) collectCgroups(ctx context.Context) ([]*model.ContainerInfo, error) {
	found, err := c.now.get(ctx)
	if found == nil {
		return nil, err
	}
	all := []*model.ContainerInfo{nodeInfo(found)}
	for _, g := range sharedGroups(found.groups) {
		if counts, ok := g.stats(); ok {
			all = append(all, infoOf(g, counts))
		}
	}
	written := map[string]*statsapi.FsStats{}
	for i := range found.Pods {
		for _, of := range found.Pods[i].Containers {
			written[found.Pods[i].PodRef.UID+"/"+of.Name] = of.Rootfs
		}
	}
	infos := make([][]*model.ContainerInfo, len(found.groups))
	each(len(infos), func(i int) { infos[i] = c.podInfos(&found.groups[i], found.containerDisk, written) })
	return append(all, slices.Concat(infos...)...), err
}

// sharedGroups are those that lie above pods'.
func sharedGroups(pods []podGroups) []group {
	var shared []group
	seen := map[string]bool{}
	for i := range pods {
		for above := path.Dir(pods[i].whole.path); above != "/" && above != "." && !seen[above]; above = path.Dir(above) {
			seen[above] = true
			shared = append(shared, group{pods[i].whole.in, above})
		}
	}
	return shared
}

func infoOf(g group, counts *model.ContainerStats) *model.ContainerInfo {
	return &model.ContainerInfo{
		ContainerReference: model.ContainerReference{Name: g.path}, Spec: g.spec(), Stats: []*model.ContainerStats{g.all(counts)},
	}
}

// podInfos is a pod, its sandbox and its containers.
func (c *Collector) podInfos(of *podGroups, disk *model.FsStats, written map[string]*statsapi.FsStats) []*model.ContainerInfo {
	if of.counts == nil {
		return nil
	}
	o := of.pod.Object
	pod := infoOf(of.whole, of.counts)
	pod.Spec.CreationTime = of.pod.Accepted
	pod.Spec.Labels = map[string]string{kubelettypes.KubernetesPodNameLabel: o.Name, kubelettypes.KubernetesPodNamespaceLabel: o.Namespace}
	infos := []*model.ContainerInfo{pod}
	if of.sandbox != nil {
		if counts, ok := of.sandbox.stats(); ok {
			sandbox := c.runInfo(of.sandbox, counts)
			sandbox.Spec.CreationTime, sandbox.Spec.Labels = of.sandbox.created, pod.Spec.Labels
			if !o.Spec.HostNetwork {
				sandbox.Stats[0].Network = c.interfaces(of.sandbox.processes())
			}
			infos = append(infos, sandbox)
		}
	}
	for i := range of.runs {
		r := &of.runs[i]
		if r.counts == nil {
			continue
		}
		info := c.runInfo(r, r.counts)
		info.Spec.Image, info.Spec.CreationTime, info.Spec.StartTime = r.run.Image, r.run.CreatedAt, r.run.StartedAt
		info.Spec.Labels = map[string]string{
			kubelettypes.KubernetesPodNameLabel: o.Name, kubelettypes.KubernetesPodNamespaceLabel: o.Namespace,
			kubelettypes.KubernetesContainerNameLabel: r.run.Name,
		}
		if layer := written[string(o.UID)+"/"+r.run.Name]; disk != nil && layer != nil && layer.UsedBytes != nil {
			own := *disk
			own.Usage = *layer.UsedBytes
			info.Stats[0].Filesystem = []model.FsStats{own}
		}
		infos = append(infos, info)
	}
	return infos
}

// runInfo is a container or a sandbox, with what its processes have open.
func (c *Collector) runInfo(r *runGroup, counts *model.ContainerStats) *model.ContainerInfo {
	info := infoOf(r.group, counts)
	info.Aliases = []string{r.id}
	processes := info.Stats[0].Processes
	pids := r.processes()
	processes.ProcessCount = uint64(len(pids))
	for _, pid := range pids {
		open, err := os.ReadDir(filepath.Join(c.config.Proc, pid, "fd"))
		if err != nil {
			continue // it ended
		}
		processes.FdCount += uint64(len(open))
		for _, file := range open {
			if to, err := os.Readlink(filepath.Join(c.config.Proc, pid, "fd", file.Name())); err == nil && strings.HasPrefix(to, "socket:") {
				processes.SocketCount++
			}
		}
	}
	if len(pids) > 0 {
		processes.Ulimits = c.openFilesLimit(pids[0])
	}
	return info
}

// openFilesLimit is how many files a process may have open.
func (c *Collector) openFilesLimit(pid string) []model.UlimitSpec {
	text, err := c.read(pid + "/limits")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(text) {
		after, ok := strings.CutPrefix(line, "Max open files")
		if fields := strings.Fields(after); ok && len(fields) > 1 {
			soft, err := strconv.ParseInt(fields[0], 10, 64)
			if err != nil {
				soft = -1 // unlimited
			}
			return []model.UlimitSpec{{Name: "max_open_files", SoftLimit: soft}}
		}
	}
	return nil
}

// interfaces are those that the first of some processes sees.
func (c *Collector) interfaces(pids []string) *model.NetworkStats {
	if len(pids) == 0 {
		return nil
	}
	table, err := c.read(pids[0] + "/net/dev")
	if err != nil {
		return nil
	}
	return &model.NetworkStats{Interfaces: interfacesOf(table)}
}

// nodeInfo is the node as the cgroup above all others.
func nodeInfo(found *collection) *model.ContainerInfo {
	n := found.Node
	s := &model.ContainerStats{Timestamp: time.Now()}
	if n.CPU != nil {
		s.Timestamp = n.CPU.Time.Time
		s.Cpu = &model.CpuStats{Usage: found.cpu, PSI: psiOrNone(n.CPU.PSI)}
	}
	if n.Memory != nil {
		s.Memory = &model.MemoryStats{
			Usage: *n.Memory.UsageBytes, WorkingSet: *n.Memory.WorkingSetBytes, RSS: *n.Memory.RSSBytes, PSI: psiOrNone(n.Memory.PSI),
		}
	}
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

func psiOrNone(psi *statsapi.PSIStats) model.PSIStats {
	if psi == nil {
		return model.PSIStats{}
	}
	return model.PSIStats{Full: model.PSIData(psi.Full), Some: model.PSIData(psi.Some)}
}
