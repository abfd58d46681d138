package reconciler

import (
	"context"
	"errors"
	"maps"
	"slices"

	"nodal/node"
)

// course keeps the two rules for one pod or asset: a decision rests on a look that is newer than the last effect, and
// no two actions work on one target at a time.
type course struct {
	busy   map[string]node.Action // in flight, by target
	effect node.Mark              // when our last effect ended
	unsure bool                   // observe before deciding
	doubt  node.Mark              // only a look that began later settles that
}

// newCourse makes a course with nothing in flight. One that is unsure observes first.
func newCourse(unsure bool) course {
	return course{busy: map[string]node.Action{}, unsure: unsure}
}

// Doubt makes the track observe before it decides again. Something happened at the mark, so only a look that began
// after it counts.
func (c *course) Doubt(at node.Mark) {
	c.unsure, c.doubt = true, max(c.doubt, at)
}

// refuses reports whether a look that began at a mark may show a past state. It may if it is older than the last look
// taken or than our last effect, or if an effect is under way.
func (c *course) refuses(mark, last node.Mark) bool {
	return mark < last || mark <= c.effect || c.acting()
}

// took notes that a look was taken.
func (c *course) took(mark node.Mark) { c.unsure = mark <= c.doubt }

// acting reports whether an action is in flight that changes what exists.
func (c *course) acting() bool {
	for _, a := range c.busy {
		if a.About().Nature != node.Slow {
			return true
		}
	}
	return false
}

// changing reports whether an action is in flight that has an effect and no time of its own.
func (c *course) changing() bool {
	for _, a := range c.busy {
		if nature := a.About().Nature; nature != node.Slow && nature != node.Looks {
			return true
		}
	}
	return false
}

// idle returns the actions whose targets are not busy.
func (c *course) idle(actions []node.Action) (begin []node.Action) {
	for _, a := range actions {
		if _, busy := c.busy[a.Target()]; !busy {
			begin = append(begin, a)
		}
	}
	return begin
}

// targets returns the targets in flight, in order.
func (c *course) targets() []string { return slices.Sorted(maps.Keys(c.busy)) }

// Begin notes that an action is in flight.
func (c *course) Begin(a node.Action) { c.busy[a.Target()] = a }

// ended notes that an action is no longer in flight. It reports whether the outcome says something about the action:
// that of a cancelled one does not.
func (c *course) ended(o Outcome) (known bool) {
	delete(c.busy, o.Action.Target())
	if o.Action.About().Nature != node.Slow {
		c.effect = o.Mark
	}
	c.unsure = c.unsure || o.Err != nil
	return !errors.Is(o.Err, context.Canceled)
}

// Idle reports whether nothing is in flight.
func (c *course) Idle() bool { return len(c.busy) == 0 }
