package gc

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"nodal/node"
)

// Policy says when images have to be removed.
type Policy struct {
	High, Low int           // percent of the disk: from High on it is cleared down to Low; a High of 100 disables it
	MinAge    time.Duration // a younger image stays, however full the disk is
	MaxAge    time.Duration // an image that is unused for longer is removed; zero disables it
}

// Disk is the disk of the images.
type Disk struct{ Capacity, Available int64 } // bytes

// Used returns how full the disk is, in percent.
func (d Disk) Used() int {
	if d.Capacity <= 0 {
		return 0
	}
	return int(100 - d.Available*100/d.Capacity)
}

// Image is an image with what was seen of it since the agent started.
type Image struct {
	node.LocalImage
	Seen time.Time // first
	Used time.Time // last; zero means not since then
	Busy bool      // something uses it
}

// kept reports whether an image stays in any case.
func (i Image) kept() bool { return i.Busy || i.Pinned }

// Plan lists the images to remove, in this order.
type Plan struct {
	Removals []node.ImageRemoval
	Short    int64 // bytes that should be free too, and for which no image may be removed
}

// Images plans the removals that the policy asks for.
func Images(images []Image, disk Disk, p Policy, now time.Time) Plan {
	var plan Plan
	rest := byAge(images)
	rest = slices.DeleteFunc(rest, func(i Image) bool {
		idle := now.Sub(latest(i))
		if p.MaxAge <= 0 || idle <= p.MaxAge {
			return false
		}
		plan.remove(i, node.CauseAge, fmt.Sprintf("unused for %s, more than %s", idle.Round(time.Second), p.MaxAge))
		return true
	})
	available := disk.Available
	for _, gone := range plan.Removals {
		available += gone.Image.Size
	}
	if (Disk{disk.Capacity, available}).Used() < p.High || p.High >= 100 || disk.Capacity <= 0 {
		return plan
	}
	wanted := disk.Capacity*int64(100-p.Low)/100 - available
	for _, i := range rest {
		if wanted <= 0 {
			break
		}
		if now.Sub(i.Seen) < p.MinAge {
			continue
		}
		plan.remove(i, node.CauseSpace, fmt.Sprintf(
			"the disk is %d %% full, images are removed from %d %% on", disk.Used(), p.High))
		wanted -= i.Size
	}
	plan.Short = max(wanted, 0)
	return plan
}

// Spare plans to remove all images that nothing uses, because the node's disk runs short. The young ones go too: otherwise
// a pod would.
func Spare(images []Image) Plan {
	var plan Plan
	for _, i := range byAge(images) {
		plan.remove(i, node.CauseSpace, "nothing uses it, and the node's disk runs short")
	}
	return plan
}

// Unused plans to remove all images that nothing uses.
func Unused(images []Image) Plan {
	var plan Plan
	for _, i := range byAge(images) {
		plan.remove(i, node.CauseAsked, "nothing uses it")
	}
	return plan
}

func (p *Plan) remove(i Image, cause node.RemovalCause, why string) {
	p.Removals = append(p.Removals, node.ImageRemoval{Image: i.LocalImage, Why: why, Cause: cause})
}

// byAge returns the images that may be removed, the least recently used first.
func byAge(images []Image) []Image {
	free := slices.DeleteFunc(slices.Clone(images), Image.kept)
	slices.SortStableFunc(free, func(a, b Image) int {
		return cmp.Or(a.Used.Compare(b.Used), a.Seen.Compare(b.Seen), cmp.Compare(a.ID, b.ID))
	})
	return free
}

// latest returns when an image was last used, or else first seen.
func latest(i Image) time.Time {
	if i.Used.IsZero() {
		return i.Seen
	}
	return i.Used
}
