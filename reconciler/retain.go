package reconciler

import (
	"time"

	"nodal/node"
)

// retainEvery is the interval between two counts of the runs that have ended on the whole node, as upstream has it.
const retainEvery = time.Minute

// retaining holds how many ended runs the node is to keep, and when they were last counted.
type retaining struct {
	usual   *node.Retention // before it was lowered for the number of the node
	counted time.Time
}

// retain lowers the number of ended runs that each container keeps until all together are within that of the node. It
// costs nothing if there is no such number, which is the default.
func (l *Loop) retain(now time.Time) {
	if l.usual == nil {
		keep := l.Site.Keep()
		l.usual = &keep
	}
	if l.usual.Node < 0 || now.Sub(l.counted) < retainEvery && !l.counted.After(now) {
		return
	}
	l.counted = now
	var older []int
	for _, t := range l.tracks {
		older = append(older, olderRuns(t.Got())...)
	}
	keep := l.usual.Within(older)
	if keep == l.Site.Keep() {
		return
	}
	l.Site.Retention = &keep
	for key := range l.tracks {
		l.dirty[key] = true
	}
}

// olderRuns returns how many ended runs each container of a pod has besides its newest.
func olderRuns(got *node.Observed) (older []int) {
	runs := map[string]int{}
	for i := range got.Containers {
		runs[got.Containers[i].Name]++
	}
	for _, n := range runs {
		older = append(older, n-1)
	}
	return older
}
