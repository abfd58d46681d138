package stats

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
)

const (
	diskAge      = time.Minute      // of the sizes of pods' files, which take a walk
	diskPatience = time.Second      // with a walk: a slower result is in a later summary
	mostWalks    = 2                // at a time, with those that hang
	walkPatience = 10 * time.Second // with one walk, before the next may begin
)

// Disk measures what pods have on the node's disk.
type Disk interface {
	// Places returns the directories of a pod's volumes and logs.
	Places(*node.Pod) ([]node.DiskPlace, error)
	// Measure returns the size of the files below a directory. A missing directory takes nothing.
	Measure(ctx context.Context, dir string) (bytes, inodes uint64, err error)
	// Ask asks the driver of the volume at a directory how full it is. It returns ErrUnsupported if the driver does not say.
	Ask(ctx context.Context, dir string) (node.VolumeUse, error)
}

// podDisk holds the disk usage of a pod.
type podDisk struct {
	at        time.Time
	volumes   []statsapi.VolumeStats
	logs      map[string]statsapi.FsStats // by container
	ephemeral room                        // of volumes
	err       error
}

type room struct{ bytes, inodes uint64 }

func (r *room) add(of *statsapi.FsStats) {
	if of != nil && of.UsedBytes != nil && of.InodesUsed != nil {
		r.bytes, r.inodes = r.bytes+*of.UsedBytes, r.inodes+*of.InodesUsed
	}
}

// podDisks keeps measured usage for as long as it is recent.
type podDisks struct {
	disk Disk

	mu    sync.Mutex
	known map[types.UID]*podDisk
	begun map[types.UID]time.Time // when the walk of each pod under way began
	walk  chan struct{}           // closed when the newest walk has ended; nil before the first walk
}

// readPodDisks measures the disk usage of pods.
func (c *Collector) readPodDisks(ctx context.Context) (func(*collection), error) {
	if c.config.Disk == nil {
		return func(*collection) {}, nil
	}
	known, err := c.podDisks.read(ctx, c.present())
	return func(s *collection) { s.onDisk = known }, err
}

// present returns the pods that have a sandbox or a container in the runtime.
func (c *Collector) present() (pods []*node.Pod) {
	views, _ := c.config.Views()
	for _, v := range views {
		if v.Slot != nil && v.Got != nil && !v.Gone && len(v.Got.Sandboxes) > 0 {
			pods = append(pods, v.Slot.Pod)
		}
	}
	return pods
}

// read measures the pods whose usage is old, and waits for the results a little.
func (d *podDisks) read(ctx context.Context, pods []*node.Pod) (map[types.UID]*podDisk, error) {
	enough := time.NewTimer(diskPatience)
	defer enough.Stop()
	select {
	case <-d.renew(context.WithoutCancel(ctx), pods):
	case <-enough.C:
	}
	return d.of(pods)
}

// renew begins to measure the pods whose usage is old, unless their walks are under way.
func (d *podDisks) renew(ctx context.Context, pods []*node.Pod) (done <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.walk != nil {
		select {
		case <-d.walk:
		default:
			return d.walk
		}
	}
	known := make(map[types.UID]*podDisk, len(pods))
	var old []*node.Pod
	for _, pod := range pods {
		if k := d.known[pod.UID()]; k != nil {
			known[pod.UID()] = k
		}
		// A walk that hangs in the kernel is not begun twice.
		if _, busy := d.begun[pod.UID()]; busy {
			continue
		}
		if k := known[pod.UID()]; k == nil || time.Since(k.at) > diskAge {
			old = append(old, pod)
		}
	}
	d.known, d.walk = known, make(chan struct{})
	go d.measure(ctx, old, d.walk)
	return d.walk
}

func (d *podDisks) measure(ctx context.Context, pods []*node.Pod, done chan struct{}) {
	defer close(done)
	var walks errgroup.Group
	walks.SetLimit(mostWalks)
	for _, pod := range pods {
		walks.Go(func() error {
			enough := time.NewTimer(walkPatience)
			defer enough.Stop()
			select {
			case <-d.begin(ctx, pod):
			case <-enough.C: // a disk that hangs must not delay the figures of other pods
			}
			return nil
		})
	}
	_ = walks.Wait() // errors are with the pods
}

// begin measures one pod.
func (d *podDisks) begin(ctx context.Context, pod *node.Pod) (done <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun[pod.UID()] = time.Now()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(ctx, diskAge)
		defer cancel()
		found := measurePod(ctx, d.disk, pod)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.known[pod.UID()] = found
		delete(d.begun, pod.UID())
	}()
	return ended
}

// of returns the known usage of some pods, and an error that names the unknown ones.
func (d *podDisks) of(pods []*node.Pod) (map[types.UID]*podDisk, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := make(map[types.UID]*podDisk, len(pods))
	var errs []error
	for _, pod := range pods {
		if k := d.known[pod.UID()]; k != nil {
			known[pod.UID()] = k
			errs = append(errs, k.err)
		}
		// A walk may take as long as its figures are valid.
		if at, busy := d.begun[pod.UID()]; busy && time.Since(at) > diskAge {
			errs = append(errs, fmt.Errorf("pod %s: %w", pod.Key(), errHangs))
		}
	}
	return known, errors.Join(errs...)
}

func measurePod(ctx context.Context, disk Disk, pod *node.Pod) *podDisk {
	found := &podDisk{at: time.Now(), logs: map[string]statsapi.FsStats{}}
	places, err := disk.Places(pod)
	errs := []error{err}
	for _, p := range places {
		volume, err := measurePlace(ctx, disk, p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, node.ErrUnsupported) {
			continue // not made yet, gone already, or not known to its driver
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if p.Volume == "" {
			found.logs[p.Container] = volume.FsStats
			continue
		}
		volume.Name = p.Volume
		if p.Claim != "" {
			volume.PVCRef = &statsapi.PVCReference{Name: p.Claim, Namespace: pod.Object.Namespace}
		}
		found.volumes = append(found.volumes, *volume)
		if p.Ephemeral {
			found.ephemeral.add(&volume.FsStats)
		}
	}
	if err := errors.Join(errs...); err != nil {
		found.err = fmt.Errorf("pod %s: %w", pod.Key(), err)
	}
	return found
}

func measurePlace(ctx context.Context, disk Disk, p node.DiskPlace) (*statsapi.VolumeStats, error) {
	if p.Driven {
		use, err := disk.Ask(ctx, p.Dir)
		return &statsapi.VolumeStats{FsStats: statsapi.FsStats{
			Time: at(time.Now()), CapacityBytes: use.Capacity, AvailableBytes: use.Available, UsedBytes: use.Used,
			Inodes: use.Inodes, InodesFree: use.InodesFree, InodesUsed: use.InodesUsed,
		}}, err
	}
	use, err := diskAt(p.Dir)
	if err != nil {
		return nil, err
	}
	if !p.Apart {
		var bytes, inodes uint64
		bytes, inodes, err = disk.Measure(ctx, p.Dir)
		use.UsedBytes, use.InodesUsed = &bytes, &inodes
	}
	return &statsapi.VolumeStats{FsStats: *use}, err
}

// addDisks fills in the disk usage of pods: volumes, logs, and the writable layers of containers, each with the
// figures of its file system; and their sum.
func (c *collection) addDisks() {
	for i := range c.Pods {
		pod := &c.Pods[i]
		disk := c.onDisk[types.UID(pod.PodRef.UID)]
		if disk == nil {
			continue
		}
		pod.VolumeStats = disk.volumes
		sum := disk.ephemeral
		for k := range pod.Containers {
			of := &pod.Containers[k]
			if logs, ok := disk.logs[of.Name]; ok {
				of.Logs = &logs
			}
			sum.add(of.Logs)
			sum.add(of.Rootfs)
		}
		pod.EphemeralStorage = &statsapi.FsStats{Time: at(disk.at), UsedBytes: &sum.bytes, InodesUsed: &sum.inodes}
		if disk := c.Node.Fs; disk != nil {
			whole := *disk
			whole.Time, whole.UsedBytes, whole.InodesUsed = pod.EphemeralStorage.Time, &sum.bytes, &sum.inodes
			pod.EphemeralStorage = &whole
		}
	}
}
