package gc

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"nodal/node"
)

// Left lists the images that nothing uses, the first to go first. next is the time of the next round.
func Left(images []Image, disk Disk, p Policy, now, next time.Time) (all []node.Garbage) {
	goes := map[string]string{}
	for _, r := range Images(images, disk, p, now).Removals {
		goes[r.Image.ID] = r.Why
	}
	unused := slices.DeleteFunc(slices.Clone(images), func(i Image) bool { return i.Busy })
	slices.SortStableFunc(unused, func(a, b Image) int { return cmp.Compare(order(a, goes), order(b, goes)) })
	for _, i := range unused {
		g := node.Garbage{Kind: node.GarbageImage, Name: nameOf(i), Bytes: i.Size, Why: "no container and no pod uses it"}
		if why, ok := goes[i.ID]; ok {
			g.Why, g.Goes = g.Why+": "+why, next
		} else {
			g.Kept, g.Goes = p.keeps(i, disk, now)
		}
		all = append(all, g)
	}
	return all
}

// order puts images that go before those that stay for now, and these before those that stay for good.
func order(i Image, goes map[string]string) int {
	switch {
	case goes[i.ID] != "":
		return 0
	case !i.Pinned:
		return 1
	}
	return 2
}

// keeps says why an unused image stays, and when it goes at the latest; the zero time means never, unless the disk
// fills up.
func (p Policy) keeps(i Image, disk Disk, now time.Time) (why string, goes time.Time) {
	if p.MaxAge > 0 {
		goes = latest(i).Add(p.MaxAge)
	}
	switch {
	case i.Pinned:
		return "the runtime has pinned it", time.Time{}
	case p.High >= 100:
		return "imageGCHighThresholdPercent is 100, so a full disk removes no images", goes
	case now.Sub(i.Seen) < p.MinAge:
		return fmt.Sprintf("it was first seen less than %s ago", p.MinAge), goes
	}
	return fmt.Sprintf("the images' disk is %d %% full, and unused images go from %d %% on", disk.Used(), p.High), goes
}

// nameOf returns the name by which people know an image.
func nameOf(i Image) string {
	for _, names := range [][]string{i.References, i.Digests} {
		if len(names) > 0 {
			return names[0]
		}
	}
	return i.ID
}
