package history

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Question selects figures: of the pods of a name, or of the node if the key is zero.
type Question struct {
	Key          node.Key
	Since, Until int64 // seconds since 1970, both included
	Step         int64 // seconds of one point; zero means as recorded
}

// Point holds the figures of a moment, or of the step that ends with it.
type Point struct {
	At int64
	Figures
}

// Past holds what is remembered of one pod, or of the node.
type Past struct {
	Series // with its latest limits
	Points []Point
}

// Answer collects what a question selects from samples, in their order. There may have been several pods of a name.
type Answer struct {
	Question
	found map[types.UID]*growing
	order []types.UID
}

// growing is a past to which points are added.
type growing struct {
	Past
	step int64 // that the last point stands for
	last sum
}

// NewAnswer returns an answer without points.
func NewAnswer(q Question) *Answer { return &Answer{Question: q, found: map[types.UID]*growing{}} }

// Add takes a sample.
func (a *Answer) Add(s *Sample) {
	if s.At < a.Since || s.At > a.Until {
		return
	}
	for i := range s.Of {
		if e := &s.Of[i]; e.Key == a.Key {
			a.add(s.At, e)
		}
	}
}

func (a *Answer) add(at int64, e *Entry) {
	of := a.found[e.UID]
	if of == nil {
		of = &growing{}
		a.found[e.UID], a.order = of, append(a.order, e.UID)
	}
	of.Series = *e.Series
	step := at
	if a.Step > 0 {
		step = at / a.Step
	}
	if n := len(of.Points); n > 0 && step == of.step {
		of.last.add(e.Figures)
		of.Points[n-1] = Point{at, of.last.figures()}
		return
	}
	of.step, of.last = step, sum{}
	of.last.add(e.Figures)
	of.Points = append(of.Points, Point{at, of.last.figures()})
}

// Pasts returns what was found of each pod, the first one that was seen first.
func (a *Answer) Pasts() []Past {
	var all []Past
	for _, uid := range a.order {
		p := a.found[uid].Past
		// A clock that was set back has left points behind later ones.
		slices.SortStableFunc(p.Points, func(x, y Point) int { return cmp.Compare(x.At, y.At) })
		all = append(all, p)
	}
	return all
}
