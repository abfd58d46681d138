package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/auth"
	"nodal/server/kubeletapi"
	"nodal/server/runs"
	"nodal/server/wire"
)

const (
	statsInterval      = 10 * time.Second // of a watch that names none
	leastStatsInterval = time.Second      // figures are collected no more often
)

// Stats reports what the node and its pods use.
type Stats interface {
	kubeletapi.Stats
	usage
}

// usage reports what the API shows. With an error the summary, if there is one, lacks what
// the error names. The summary is shared: do not write to it.
type usage interface {
	Summary(context.Context) (*statsapi.Summary, error)
	// History returns the past usage of a pod's containers, oldest first. It goes back as
	// far as usage was asked for.
	History(types.UID) map[string][]node.Usage
}

// statsService serves the usage of the node and its pods. What was recorded of it is in stats_history.go.
type statsService struct {
	nodev1.UnimplementedStatsServiceServer
	pods    runs.Pods
	stats   usage
	past    Past // nil if none is recorded
	now     func() time.Time
	stopped <-chan struct{}
}

var _ nodev1.StatsServiceServer = (*statsService)(nil)

// GetStats returns the present figures.
func (s *statsService) GetStats(ctx context.Context, r *nodev1.GetStatsRequest) (*nodev1.GetStatsResponse, error) {
	found, err := s.read(ctx, r.GetNamespace(), r.GetName())
	if err != nil {
		return nil, err
	}
	return &nodev1.GetStatsResponse{Stats: found}, nil
}

// WatchStats sends the present figures, and again at each interval.
func (s *statsService) WatchStats(
	r *nodev1.WatchStatsRequest, stream grpc.ServerStreamingServer[nodev1.WatchStatsResponse],
) error {
	interval := statsInterval
	if r.GetInterval() != nil {
		interval = r.GetInterval().AsDuration()
	}
	if interval < leastStatsInterval {
		return fmt.Errorf("watch stats every %s: the least is %s: %w", interval, leastStatsInterval, node.ErrInvalid)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		found, err := s.read(stream.Context(), r.GetNamespace(), r.GetName())
		if err != nil {
			return err
		}
		if err := stream.Send(&nodev1.WatchStatsResponse{Stats: found}); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-s.stopped:
			return wire.ErrStopping
		}
	}
}

// GetStatsHistory returns the past usage of a pod's containers.
func (s *statsService) GetStatsHistory(
	_ context.Context, r *nodev1.GetStatsHistoryRequest,
) (*nodev1.GetStatsHistoryResponse, error) {
	key := node.Key{Namespace: r.GetNamespace(), Name: r.GetName()}
	view, err := runs.Pod(s.pods, key)
	if err != nil {
		return nil, err
	}
	kept := s.stats.History(view.Slot.Pod.UID())
	answer := &nodev1.GetStatsHistoryResponse{}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		c := &nodev1.ContainerHistory{Name: name}
		for _, u := range kept[name] {
			c.Usages = append(c.Usages, pastUsage(u))
		}
		answer.Containers = append(answer.Containers, c)
	}
	return answer, nil
}

func pastUsage(u node.Usage) *nodev1.Usage {
	usage := &nodev1.Usage{
		Time: timestamppb.New(u.At), CpuTime: durationpb.New(u.CPU),
		MemoryBytes: new(u.Memory), WorkingSetBytes: new(u.WorkingSet),
	}
	if u.Cores >= 0 {
		usage.Cores = new(u.Cores)
	}
	return usage
}

// read returns the figures of all pods that the caller sees, of a namespace's, or of one. A caller that is narrowed to
// namespaces gets none of the node.
func (s *statsService) read(ctx context.Context, namespace, name string) (*nodev1.Stats, error) {
	if name != "" && namespace == "" {
		return nil, fmt.Errorf("stats of pod %q: a name needs its namespace: %w", name, node.ErrInvalid)
	}
	found, err := s.stats.Summary(ctx)
	if found == nil {
		return nil, err
	}
	stats := &nodev1.Stats{}
	if auth.RequireNode(ctx) == nil {
		stats.Node = nodeStats(found)
	}
	if err != nil {
		stats.Missing = err.Error()
	}
	for i := range found.Pods {
		p := &found.Pods[i]
		if auth.Sees(ctx, p.PodRef.Namespace) && (namespace == "" || namespace == p.PodRef.Namespace) && (name == "" || name == p.PodRef.Name) {
			stats.Pods = append(stats.Pods, podStats(p))
		}
	}
	return stats, nil
}

func nodeStats(found *statsapi.Summary) *nodev1.NodeStats {
	of := found.Node
	stats := &nodev1.NodeStats{
		Name: of.NodeName, Started: moment(of.StartTime), Usage: usageOf(of.CPU, of.Memory, of.Swap),
		Traffic: trafficOf(of.Network), Disk: diskOf(of.Fs), Pressure: pressureOf(&of),
	}
	if of.Runtime != nil {
		stats.ImageDisk = diskOf(of.Runtime.ImageFs)
	}
	return stats
}

// pressureOf returns nil where the kernel does not count pressure.
func pressureOf(of *statsapi.NodeStats) *nodev1.Pressure {
	p := &nodev1.Pressure{}
	if of.CPU != nil && of.CPU.PSI != nil {
		p.Cpu = &of.CPU.PSI.Some.Avg10
	}
	if of.Memory != nil && of.Memory.PSI != nil {
		p.Memory = &of.Memory.PSI.Some.Avg10
	}
	if of.IO != nil && of.IO.PSI != nil {
		p.Io = &of.IO.PSI.Some.Avg10
	}
	if p.Cpu == nil && p.Memory == nil && p.Io == nil {
		return nil
	}
	return p
}

func podStats(p *statsapi.PodStats) *nodev1.PodStats {
	stats := &nodev1.PodStats{
		Namespace: p.PodRef.Namespace, Name: p.PodRef.Name, Uid: p.PodRef.UID,
		Started: moment(p.StartTime), Usage: usageOf(p.CPU, p.Memory, p.Swap), Traffic: trafficOf(p.Network),
	}
	for _, c := range p.Containers {
		container := &nodev1.ContainerStats{Name: c.Name, Started: moment(c.StartTime),
			Usage: usageOf(c.CPU, c.Memory, c.Swap)}
		if c.Rootfs != nil {
			container.WrittenBytes = c.Rootfs.UsedBytes
		}
		if c.Logs != nil {
			container.LogBytes = c.Logs.UsedBytes
		}
		stats.Containers = append(stats.Containers, container)
	}
	if p.EphemeralStorage != nil {
		stats.EphemeralBytes = p.EphemeralStorage.UsedBytes
	}
	for i := range p.VolumeStats {
		stats.Volumes = append(stats.Volumes, volumeStats(&p.VolumeStats[i]))
	}
	return stats
}

func volumeStats(v *statsapi.VolumeStats) *nodev1.VolumeStats {
	stats := &nodev1.VolumeStats{Name: v.Name, Disk: diskOf(&v.FsStats)}
	if v.PVCRef != nil {
		stats.Claim = v.PVCRef.Name
	}
	if v.InodesUsed != nil {
		stats.InodesUsed = *v.InodesUsed
	}
	return stats
}

func usageOf(cpu *statsapi.CPUStats, memory *statsapi.MemoryStats, swap *statsapi.SwapStats) *nodev1.Usage {
	u := &nodev1.Usage{}
	if cpu != nil {
		u.Time = moment(cpu.Time)
		if spent := cpu.UsageCoreNanoSeconds; spent != nil {
			u.CpuTime = durationpb.New(time.Duration(*spent))
		}
		if cores := cpu.UsageNanoCores; cores != nil {
			u.Cores = new(float64(*cores) / 1e9)
		}
	}
	if memory != nil {
		u.MemoryBytes, u.WorkingSetBytes = memory.UsageBytes, memory.WorkingSetBytes
	}
	if swap != nil {
		u.SwapBytes = swap.SwapUsageBytes
	}
	return u
}

func trafficOf(n *statsapi.NetworkStats) *nodev1.Traffic {
	if n == nil || n.RxBytes == nil || n.TxBytes == nil {
		return nil
	}
	return &nodev1.Traffic{Interface: n.Name, ReceivedBytes: *n.RxBytes, SentBytes: *n.TxBytes}
}

func diskOf(fs *statsapi.FsStats) *nodev1.Disk {
	if fs == nil || fs.CapacityBytes == nil || fs.AvailableBytes == nil || fs.UsedBytes == nil {
		return nil
	}
	return &nodev1.Disk{CapacityBytes: *fs.CapacityBytes, AvailableBytes: *fs.AvailableBytes, UsedBytes: *fs.UsedBytes}
}

// moment returns nil if the time is not known.
func moment(t metav1.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t.Time)
}
