package csi

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"nodal/node"
)

// Published returns when the volume at a path was last published: its tag is written before the first time, and touched after
// each other. It returns the zero value if a pod does not have the volume there.
func (v *Volumes) Published(path string) (at time.Time, err error) {
	dir := filepath.Dir(path)
	if done, err := published(dir, path); !done || err != nil {
		return at, err
	}
	info, err := os.Stat(filepath.Join(dir, tagName))
	if err != nil {
		return at, err
	}
	return info.ModTime(), nil
}

// Republish has the driver publish a volume again that a pod has. The mark of the directory stays: whatever comes of it, the
// pod has the volume.
func (v *Volumes) Republish(ctx context.Context, p node.Publication) error {
	release, err := v.paths.take(ctx, p.Path)
	if err != nil {
		return err
	}
	defer release()
	dir := filepath.Dir(p.Path)
	if done, err := published(dir, p.Path); !done || err != nil {
		return err // the pod has given it back
	}
	if err := v.publish(ctx, p, func() error { return nil }); err != nil {
		return err
	}
	now := time.Now()
	return os.Chtimes(filepath.Join(dir, tagName), now, now)
}

// Publications tells of each volume that a pod gets.
func (v *Volumes) Publications() *Publications { return &v.publications }

// Publications counts the volumes that pods get, and rings for each.
type Publications struct {
	count atomic.Int64
	bell  node.Bell
}

func (p *Publications) ring() {
	p.count.Add(1)
	p.bell.Ring()
}

// Revision returns a number that grows with each publication.
func (p *Publications) Revision() int64 { return p.count.Load() }

// Changed returns a channel that is closed at the next publication.
func (p *Publications) Changed() <-chan struct{} { return p.bell.Heard() }

// paths keeps two from working at one path at once.
type paths struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // closed when the path is free again
}

// take waits until a path is free, and returns the function that frees it again.
func (p *paths) take(ctx context.Context, path string) (release func(), err error) {
	for {
		p.mu.Lock()
		other, busy := p.taken[path]
		if !busy {
			mine := make(chan struct{})
			if p.taken == nil {
				p.taken = map[string]chan struct{}{}
			}
			p.taken[path] = mine
			p.mu.Unlock()
			return func() {
				p.mu.Lock()
				delete(p.taken, path)
				p.mu.Unlock()
				close(mine)
			}, nil
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-other:
		}
	}
}
