package gc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// LocalImages are the images on the machine, as far as they may have to go.
type LocalImages interface {
	ListImages(context.Context) ([]node.LocalImage, error)
	// ImagesInUse names, by id or reference, what containers and sandboxes are made from.
	ImagesInUse(context.Context) (map[string]bool, error)
	RemoveImage(ctx context.Context, id string) error
	// ImageDisk returns the room on the disk of the images.
	ImageDisk(context.Context) (capacity, available int64, err error)
}

// collectEvery is the interval of looks at images, as upstream has it.
const collectEvery = 5 * time.Minute

// Collector removes images that nothing needs. It knows only the uses that it has seen itself:
// after a restart every image counts as new.
type Collector struct {
	Store  *store.Store
	Images LocalImages
	Policy Policy
	Events *store.Events
	Log    *slog.Logger
	Clock  func() time.Time
	// Collected is told why an image went that no caller had asked to go; it may be nil.
	Collected func(node.RemovalCause)

	mu   sync.Mutex
	seen map[string]*sightings // by image id
}

// sightings are when an image was seen first, and in use last.
type sightings struct{ first, used time.Time }

// Run looks at the images now and then until the context ends.
func (c *Collector) Run(ctx context.Context) {
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	for {
		if err := c.round(ctx); err != nil && ctx.Err() == nil {
			c.Log.Warn("cannot remove unused images", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// round does what the policy asks for.
func (c *Collector) round(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	images, err := c.look(ctx)
	if err != nil {
		return err
	}
	capacity, available, err := c.Images.ImageDisk(ctx)
	if err != nil {
		return err
	}
	plan := Images(images, Disk{Capacity: capacity, Available: available}, c.Policy, c.Clock())
	if plan.Short > 0 {
		c.tell(true, "FreeDiskSpaceFailed", fmt.Sprintf("the images' disk is too full: %d more bytes should be free, and no image may go for them", plan.Short))
	}
	_, err = c.remove(ctx, plan)
	return err
}

// PrunePlan says what Prune would remove.
func (c *Collector) PrunePlan(ctx context.Context) ([]node.ImageRemoval, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	images, err := c.look(ctx)
	return Unused(images).Removals, err
}

// Prune removes all images that nothing uses, and answers which.
func (c *Collector) Prune(ctx context.Context) ([]node.ImageRemoval, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	images, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	return c.remove(ctx, Unused(images))
}

// Remove gives up one image, unless something uses it, and answers which it was.
func (c *Collector) Remove(ctx context.Context, id string) (node.LocalImage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	images, err := c.look(ctx)
	if err != nil {
		return node.LocalImage{}, err
	}
	at := slices.IndexFunc(images, func(i Image) bool { return i.ID == id })
	if at < 0 {
		return node.LocalImage{}, fmt.Errorf("the runtime has no image %s: %w", id, node.ErrNotFound)
	}
	image := images[at]
	if pods := c.users(image.LocalImage); len(pods) > 0 {
		return node.LocalImage{}, fmt.Errorf("it is used by the pods %s: %w", strings.Join(pods, ", "), node.ErrConflict)
	}
	if image.Busy || image.Pinned {
		return node.LocalImage{}, fmt.Errorf("the runtime uses it, for what is not of this node's pods or for sandboxes: %w", node.ErrConflict)
	}
	_, err = c.remove(ctx, Plan{Removals: []node.ImageRemoval{{Image: image.LocalImage, Why: "it was asked for"}}})
	return image.LocalImage, err
}

// users are the pods that have containers of an image, or will.
func (c *Collector) users(image node.LocalImage) (pods []string) {
	views, _ := c.Store.Views()
	for _, v := range views {
		if v.Got == nil {
			continue
		}
		of := map[string]bool{}
		for _, container := range v.Got.Containers {
			of[container.ImageID], of[container.Image] = true, true
		}
		addPromised(of, v)
		if uses(of, image) {
			pods = append(pods, v.Key.String())
		}
	}
	return pods
}

// look brings what was seen of the images up to date.
func (c *Collector) look(ctx context.Context) ([]Image, error) {
	local, err := c.Images.ListImages(ctx)
	if err != nil {
		return nil, err
	}
	busy, err := c.Images.ImagesInUse(ctx)
	if err != nil {
		return nil, err
	}
	views, _ := c.Store.Views()
	for _, v := range views {
		addPromised(busy, v)
	}
	now, seen := c.Clock(), map[string]*sightings{}
	var images []Image
	for _, i := range local {
		known, ok := c.seen[i.ID]
		if !ok {
			known = &sightings{first: now}
		}
		used := uses(busy, i)
		if used {
			known.used = now
		}
		seen[i.ID] = known
		images = append(images, Image{LocalImage: i, Seen: known.first, Used: known.used, Busy: used})
	}
	c.seen = seen
	return images, nil
}

// addPromised adds what was made ready for containers of a pod that are not made
// yet, and the images that they mount.
func addPromised(busy map[string]bool, v store.View) {
	if v.Got == nil || v.Slot == nil || v.Slot.Result != nil {
		return
	}
	for _, image := range v.Got.Images {
		busy[image.ID] = true
	}
	for _, id := range v.Got.VolumeImages() {
		busy[id] = true
	}
}

// uses says whether an image is among those in use, by whatever name.
func uses(busy map[string]bool, i node.LocalImage) bool {
	if busy[i.ID] {
		return true
	}
	for _, names := range [][]string{i.References, i.Digests} {
		for _, name := range names {
			if busy[name] {
				return true
			}
		}
	}
	return false
}

// remove goes on after a failure: the next image may go.
func (c *Collector) remove(ctx context.Context, plan Plan) (removed []node.ImageRemoval, err error) {
	var errs []error
	for _, r := range plan.Removals {
		if err := c.Images.RemoveImage(ctx, r.Image.ID); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(c.seen, r.Image.ID)
		removed = append(removed, r)
		c.tell(false, "ImageRemoved", fmt.Sprintf("removed image %s %q, %d bytes: %s", r.Image.ID, r.Image.References, r.Image.Size, r.Why))
		if c.Collected != nil && r.Cause != node.CauseAsked {
			c.Collected(r.Cause)
		}
	}
	return removed, errors.Join(errs...)
}

func (c *Collector) tell(warning bool, reason, message string) {
	c.Events.Add(node.Event{Time: c.Clock(), Warning: warning, Reason: reason, Message: message})
}
