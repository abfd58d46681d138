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

// LocalImages lists, measures and removes the images on the machine.
type LocalImages interface {
	ListImages(context.Context) ([]node.LocalImage, error)
	// ImagesInUse returns the ids and references of the images that containers and sandboxes are made from.
	ImagesInUse(context.Context) (map[string]bool, error)
	RemoveImage(ctx context.Context, id string) error
	// ImageDisk returns the room on the disk of the images.
	ImageDisk(context.Context) (capacity, available int64, err error)
}

// collectEvery is the interval between two rounds, as upstream has it.
const collectEvery = 5 * time.Minute

// Collector removes images that nothing needs. It knows only the uses that it has seen itself:
// after a restart every image counts as new.
type Collector struct {
	Store  *store.Store
	Images LocalImages
	Policy func() Policy // that holds now
	Events *store.Events
	Log    *slog.Logger
	Clock  func() time.Time
	// Collected is called for each image that is removed unasked; nil disables it.
	Collected func(node.RemovalCause)

	mu   sync.Mutex
	seen map[string]*sightings // by image id
	next time.Time             // of the rounds
}

// sightings holds when an image was first seen, and when it was last in use.
type sightings struct{ first, used time.Time }

// Run makes a round at regular intervals until the context ends.
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

// round removes the images that have to go by the policy.
func (c *Collector) round(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = c.Clock().Add(collectEvery)
	images, err := c.look(ctx)
	if err != nil {
		return err
	}
	capacity, available, err := c.Images.ImageDisk(ctx)
	if err != nil {
		return err
	}
	plan := Images(images, Disk{Capacity: capacity, Available: available}, c.Policy(), c.Clock())
	if plan.Short > 0 {
		c.addEvent(true, "FreeDiskSpaceFailed", fmt.Sprintf(
			"the images' disk is too full: %d more bytes should be free, and no more images may be removed", plan.Short))
	}
	_, err = c.remove(ctx, plan)
	return err
}

// Garbage lists the images that nothing uses.
func (c *Collector) Garbage(ctx context.Context) ([]node.Garbage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	images, err := c.look(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for unused images: %w", err)
	}
	capacity, available, err := c.Images.ImageDisk(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for unused images: %w", err)
	}
	return Left(images, Disk{Capacity: capacity, Available: available}, c.Policy(), c.Clock(), c.next), nil
}

// PrunePlan returns the images that Prune would remove.
func (c *Collector) PrunePlan(ctx context.Context) ([]node.ImageRemoval, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	images, err := c.look(ctx)
	return Unused(images).Removals, err
}

// Prune removes all images that nothing uses, and returns them.
func (c *Collector) Prune(ctx context.Context) ([]node.ImageRemoval, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	images, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	return c.remove(ctx, Unused(images))
}

// Reclaim removes the images that nothing uses, because a disk of the node runs short.
func (c *Collector) Reclaim(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	images, err := c.look(ctx)
	if err != nil {
		return err
	}
	_, err = c.remove(ctx, Spare(images))
	return err
}

// Remove removes one image, unless something uses it, and returns it.
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
		return node.LocalImage{}, fmt.Errorf(
			"it is used by the pods %s: %w", strings.Join(pods, ", "), node.ErrConflict)
	}
	if image.Busy || image.Pinned {
		return node.LocalImage{}, fmt.Errorf(
			"the runtime uses it for a sandbox, or for a container outside this node's pods: %w", node.ErrConflict)
	}
	_, err = c.remove(ctx, Plan{Removals: []node.ImageRemoval{{Image: image.LocalImage, Why: "it was asked for"}}})
	return image.LocalImage, err
}

// users returns the pods that have containers of an image, or are about to.
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

// look lists the images, and notes which of them are in use now.
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

// addPromised adds the images that were pulled for a pod's coming containers, and those that they mount.
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

// uses reports whether an image is in use, under any of its names.
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

// remove removes the images of a plan. It goes on after a failure.
func (c *Collector) remove(ctx context.Context, plan Plan) (removed []node.ImageRemoval, err error) {
	var errs []error
	for _, r := range plan.Removals {
		if err := c.Images.RemoveImage(ctx, r.Image.ID); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(c.seen, r.Image.ID)
		removed = append(removed, r)
		c.addEvent(false, "ImageRemoved", fmt.Sprintf(
			"removed image %s %q, %d bytes: %s", r.Image.ID, r.Image.References, r.Image.Size, r.Why))
		if c.Collected != nil && r.Cause != node.CauseAsked {
			c.Collected(r.Cause)
		}
	}
	return removed, errors.Join(errs...)
}

func (c *Collector) addEvent(warning bool, reason, message string) {
	c.Events.Add(node.Event{Time: c.Clock(), Warning: warning, Reason: reason, Message: message})
}
