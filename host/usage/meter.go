package usage

import (
	"context"
	"errors"
	"maps"
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

const (
	// Stats keep their figures for a minute, so a walk shortly before is good enough for them.
	statsAge = 30 * time.Second
	// The evictor has to notice a pod over its limit soon. It walks again unless there was a walk just now.
	limitAge = time.Second
)

// Config describes where pods have their files.
type Config struct {
	Volumes Volumes
	LogDir  func(node.Key, types.UID) (string, error)
	// Layers returns what each container of a pod has written over its image.
	Layers func(context.Context, types.UID) (map[string]node.Space, error)
	// Ask asks the driver of the volume at a directory how full it is.
	Ask func(ctx context.Context, dir string) (node.VolumeUse, error)
	// Walked is called after each walk; nil disables it.
	Walked func(took time.Duration)
}

// Volumes finds the directories of pods' volumes.
type Volumes interface {
	// NodeDir returns the directory of a volume that the node has made. It is empty for a volume on a server.
	NodeDir(pod *corev1.Pod, volume string) (string, error)
	// DrivenDir returns the directory of a volume that a CSI driver has. It is empty for others.
	DrivenDir(pod *corev1.Pod, volume string) (string, error)
}

// Meter measures what pods have on the node's disk. Its methods may be called from any goroutine.
type Meter struct {
	config Config
	walk   func(ctx context.Context, dir string) (Use, error)
	// flights holds the walks under way. A directory whose walk hangs in the kernel is not walked twice.
	flights singleflight.Group

	mu    sync.Mutex
	walks map[string]walked // the last one, by directory
	swept time.Time         // when old ones were forgotten
}

// walked is a walk that has ended.
type walked struct {
	began  time.Time
	use    Use
	effort time.Duration // of a processor; nothing for a reader of an earlier walk
}

// New makes a meter that has measured nothing.
func New(c Config) *Meter {
	return &Meter{config: c, walk: Measure, walks: map[string]walked{}}
}

// Places lists the directories with files of a pod. With an error it lacks those that the error names.
func (m *Meter) Places(pod *node.Pod) ([]node.DiskPlace, error) {
	return m.places(pod, func(node.DiskPlace) bool { return true })
}

// Measure returns how much room the files below a directory take, as of half a minute ago at most.
func (m *Meter) Measure(ctx context.Context, dir string) (bytes, inodes uint64, err error) {
	w, err := m.measure(ctx, dir, statsAge)
	return uint64(w.use.Bytes), uint64(w.use.Inodes), err
}

// Ask asks the driver of the volume at a directory how full it is.
func (m *Meter) Ask(ctx context.Context, dir string) (node.VolumeUse, error) {
	return m.config.Ask(ctx, dir)
}

// Written returns how many bytes a pod has in the named volumes. If containers is true, it also returns how many its
// containers have written elsewhere. With an error it lacks the parts that the error names.
func (m *Meter) Written(ctx context.Context, pod *node.Pod, volumes []string, containers bool) (node.Written, error) {
	found := node.Written{Volumes: map[string]int64{}, Containers: map[string]int64{}}
	places, err := m.places(pod, func(p node.DiskPlace) bool {
		return p.Volume == "" && containers || slices.Contains(volumes, p.Volume)
	})
	errs := []error{err}
	if containers {
		layers, err := m.config.Layers(ctx, pod.UID())
		for name, layer := range layers {
			found.Containers[name] = layer.Bytes
		}
		errs = append(errs, err)
	}
	for _, p := range places {
		w, err := m.measure(ctx, p.Dir, limitAge)
		errs = append(errs, err)
		found.Effort += w.effort
		switch {
		case err != nil:
		case p.Volume != "":
			found.Volumes[p.Volume] = w.use.Bytes
		default:
			found.Containers[p.Container] += w.use.Bytes
		}
	}
	return found, errors.Join(errs...)
}

// Used returns how much room the files of a pod take that do not outlive it, as of a second ago at most. With an error it
// lacks the parts that the error names.
func (m *Meter) Used(ctx context.Context, pod *node.Pod, parts node.DiskParts) (Used, error) {
	var places []node.DiskPlace
	var errs [2]error
	if parts.Files {
		places, errs[0] = m.places(pod, func(p node.DiskPlace) bool { return p.Volume == "" || p.Ephemeral })
	}
	found := Used{Containers: map[string]node.Space{}}
	if parts.Layers {
		var layers map[string]node.Space
		layers, errs[1] = m.config.Layers(ctx, pod.UID())
		for name, layer := range layers {
			found.add(name, layer)
		}
	}
	return found, errors.Join(errs[0], errs[1], m.addPlaces(ctx, places, &found))
}

// addPlaces walks through directories, and adds what is in them.
func (m *Meter) addPlaces(ctx context.Context, places []node.DiskPlace, to *Used) error {
	var errs []error
	for _, p := range places {
		w, err := m.measure(ctx, p.Dir, limitAge)
		errs = append(errs, err)
		if err == nil {
			to.add(p.Container, node.Space(w.use))
		}
	}
	return errors.Join(errs...)
}

// Used is the room that files of a pod take.
type Used struct {
	Total      node.Space
	Containers map[string]node.Space // of it: logs and layers
}

// add counts files of a container, or of a volume if the name is empty.
func (u *Used) add(container string, more node.Space) {
	u.Total = node.Space(Use(u.Total).Add(Use(more)))
	if container != "" {
		u.Containers[container] = node.Space(Use(u.Containers[container]).Add(Use(more)))
	}
}

// measure returns the last walk through a directory, or walks if that began longer ago than age.
func (m *Meter) measure(ctx context.Context, dir string, age time.Duration) (walked, error) {
	if use, fresh := m.recall(dir, age); fresh {
		return walked{use: use}, nil
	}
	done := m.flights.DoChan(dir, func() (any, error) {
		goruntime.LockOSThread() // whose time counts
		defer goruntime.UnlockOSThread()
		w, spent := walked{began: time.Now()}, threadTime()
		var err error
		w.use, err = m.walk(context.WithoutCancel(ctx), dir) // others may wait for it
		w.effort = threadTime() - spent
		if err == nil {
			m.keep(dir, w)
		}
		if m.config.Walked != nil {
			m.config.Walked(time.Since(w.began))
		}
		return w, err
	})
	select {
	case result := <-done:
		return result.Val.(walked), result.Err
	case <-ctx.Done():
		return walked{}, ctx.Err()
	}
}

// threadTime is the time that the calling thread has spent on processors.
func threadTime() time.Duration {
	var spent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &spent); err != nil {
		return 0
	}
	return time.Duration(spent.Nano())
}

func (m *Meter) recall(dir string, age time.Duration) (use Use, fresh bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok := m.walks[dir]
	return last.use, ok && time.Since(last.began) < age
}

// keep holds a walk, and forgets those that are too old for every reader: the directories may be gone.
func (m *Meter) keep(dir string, w walked) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.walks[dir] = w
	if time.Since(m.swept) < statsAge {
		return
	}
	m.swept = time.Now()
	maps.DeleteFunc(m.walks, func(_ string, old walked) bool { return time.Since(old.began) > statsAge })
}
