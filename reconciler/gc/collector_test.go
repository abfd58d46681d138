package gc_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler/gc"
)

// disk is a machine with images of 100 bytes each on a disk of 1000.
type disk struct {
	mu      sync.Mutex
	images  []string
	busy    map[string]bool
	stuck   string // an image that cannot be removed
	looks   int
	removed []string
}

var _ gc.LocalImages = (*disk)(nil)

func (d *disk) ListImages(context.Context) ([]node.LocalImage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looks++
	var images []node.LocalImage
	for _, id := range d.images {
		images = append(images, node.LocalImage{ID: id, References: []string{"name of " + id}, Size: 100})
	}
	return images, nil
}

func (d *disk) ImagesInUse(context.Context) (map[string]bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	busy := map[string]bool{}
	for name := range d.busy {
		busy[name] = true
	}
	return busy, nil
}

func (d *disk) RemoveImage(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id == d.stuck {
		return errors.New("it is stuck")
	}
	d.images = slices.DeleteFunc(d.images, func(i string) bool { return i == id })
	d.removed = append(d.removed, id)
	return nil
}

func (d *disk) ImageDisk(context.Context) (capacity, available int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return 1000, 1000 - 100*int64(len(d.images)), nil
}

func (d *disk) wantRemoved(t *testing.T, want string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if got := strings.Join(d.removed, " "); got != want {
		t.Errorf("removed %q, want %q", got, want)
	}
	d.removed = nil
}

// change stands for another user of the machine.
func (d *disk) change(busy []string, more string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.images = append(d.images, more)
	clear(d.busy)
	for _, name := range busy {
		d.busy[name] = true
	}
}

// noDisk is a journal that keeps nothing.
type noDisk struct{}

func (noDisk) Commit(...store.Record) error         { return nil }
func (noDisk) CommitReserved(...store.Record) error { return nil }

func newCollector(t *testing.T, d *disk) *gc.Collector {
	t.Helper()
	clock, err := store.OpenClock(noDisk{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &gc.Collector{
		Store: store.New(noDisk{}, clock), Images: d, Events: store.NewEvents(clock),
		Policy: func() gc.Policy { return gc.Policy{High: 85, Low: 80, MinAge: 2 * time.Minute} },
		Log:    slog.New(slog.DiscardHandler), Clock: time.Now,
	}
}

func TestImagesAreGivenUpWhenTheDiskIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{images: strings.Fields("a b c d e f g h"), busy: map[string]bool{"a": true, "name of b": true}}
		c := newCollector(t, d)
		collected := map[node.RemovalCause]int{}
		c.Collected = func(cause node.RemovalCause) { collected[cause]++ }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			c.Run(ctx)
			close(ended)
		}()
		time.Sleep(6 * time.Minute)
		d.wantRemoved(t, "")         // 80 %
		d.change([]string{"a"}, "i") // 90 %
		time.Sleep(5 * time.Minute)
		d.wantRemoved(t, "c") // what was used last, or came last, stays
		d.change([]string{"a"}, "j")
		time.Sleep(5 * time.Minute)
		d.wantRemoved(t, "d")
		cancel()
		<-ended
		if len(collected) != 1 || collected[node.CauseSpace] != 2 {
			t.Errorf("counted were %v, want two for the space", collected)
		}
		if d.looks != 4 {
			t.Errorf("it looked %d times in 16 minutes, want once in 5", d.looks)
		}
	})
}

func TestAShortageRemovesAllUnusedImages(t *testing.T) {
	d := &disk{images: strings.Fields("a b c"), busy: map[string]bool{"a": true}}
	c := newCollector(t, d)
	collected := map[node.RemovalCause]int{}
	c.Collected = func(cause node.RemovalCause) { collected[cause]++ }
	if err := c.Reclaim(t.Context()); err != nil || collected[node.CauseSpace] != 2 {
		t.Errorf("got %v, and counted are %v; want two for the space", err, collected)
	}
	d.wantRemoved(t, "b c") // however young they are
}

func TestPruneRemovesTheImagesOfItsPlan(t *testing.T) {
	d := &disk{images: strings.Fields("a b c"), busy: map[string]bool{"a": true}, stuck: "b"}
	c := newCollector(t, d)
	c.Collected = func(cause node.RemovalCause) { t.Errorf("%q is counted, though it was asked for", cause) }
	plan, err := c.PrunePlan(t.Context())
	if err != nil || len(plan) != 2 || plan[0].Image.ID != "b" || plan[1].Image.ID != "c" {
		t.Errorf("planned %+v, %v, want b and c", plan, err)
	}
	d.wantRemoved(t, "")
	removed, err := c.Prune(t.Context())
	if err == nil || len(removed) != 1 || removed[0].Image.ID != "c" {
		t.Errorf("removed %+v, %v, want c, and to be told of b", removed, err)
	}
	d.wantRemoved(t, "c")
}

func TestOneImageIsRemovedUnlessItIsUsed(t *testing.T) {
	d := &disk{images: strings.Fields("a b c e"), busy: map[string]bool{"a": true}, stuck: "b"}
	c := newCollector(t, d)
	key := node.Key{Namespace: "default", Name: "web"}
	put := func(tx *store.Tx) error {
		tx.Put(key, &node.Slot{Pod: &node.Pod{Object: &corev1.Pod{}}})
		return nil
	}
	if _, err := c.Store.Transact(put); err != nil {
		t.Fatal(err)
	}
	got := &node.Observed{Containers: []node.Container{{Name: "main", ImageID: "c"}}}
	got.Lay(node.Volumes, "data", node.Part{Image: "e"})
	c.Store.Observe(key, got)
	for _, test := range []struct{ name, image, want string }{
		{"one that is not there", "d", "has no image d"},
		{"one that the runtime uses", "a", "the runtime uses it"},
		{"one of a pod", "c", "used by the pods default/web"},
		{"one that a pod mounts", "e", "used by the pods default/web"},
		{"one that is stuck", "b", "it is stuck"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := c.Remove(t.Context(), test.image); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want that %s", err, test.want)
			}
		})
	}
	d.wantRemoved(t, "")
	d.stuck = ""
	if gone, err := c.Remove(t.Context(), "b"); err != nil || gone.References[0] != "name of b" {
		t.Errorf("removed %+v, %v, want b", gone, err)
	}
	d.wantRemoved(t, "b")
}
