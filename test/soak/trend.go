package soak

import (
	"fmt"
	"slices"
)

// point is one look at a figure.
type point struct {
	lives int // of pods so far
	run   int // tells the processes apart to which the figure belonged; 0 for the machine
	value float64
}

// bound says how a figure of a healthy node may behave.
type bound struct {
	growth float64 // for 1,000 pods
	noise  float64 // it varies by so much from look to look
}

// trend holds what became of a figure.
type trend struct {
	first, last float64 // after the warm-up
	slope       float64 // for 1,000 pods
	span        int     // pods in the longest run, after the warm-up
	pairs       int
}

// trendOf returns the trend of points in their order. It compares points of one run only, and leaves out the first half of
// each run.
func trendOf(points []point) (t trend) {
	var slopes []float64
	for len(points) > 0 {
		n := slices.IndexFunc(points, func(p point) bool { return p.run != points[0].run })
		if n < 0 {
			n = len(points)
		}
		settled := points[n/2 : n]
		slopes = append(slopes, slopesOf(settled)...)
		if span := settled[len(settled)-1].lives - settled[0].lives; span >= t.span {
			t.first, t.last, t.span = settled[0].value, settled[len(settled)-1].value, span
		}
		points = points[n:]
	}
	if t.pairs = len(slopes); t.pairs > 0 {
		slices.Sort(slopes)
		t.slope = (slopes[(t.pairs-1)/2] + slopes[t.pairs/2]) / 2
	}
	return t
}

// slopesOf returns the slope between each two points.
func slopesOf(points []point) (slopes []float64) {
	for i, a := range points {
		for _, b := range points[i+1:] {
			if b.lives > a.lives {
				slopes = append(slopes, (b.value-a.value)*1000/float64(b.lives-a.lives))
			}
		}
	}
	return slopes
}

// leaks reports whether the figure grows with the number of pods.
func (t trend) leaks(b bound) bool {
	return t.slope > b.growth && t.slope*float64(t.span)/1000 > b.noise
}

func (t trend) String() string {
	return fmt.Sprintf("%10.1f to %10.1f over %5d pods, %+9.2f for 1,000", t.first, t.last, t.span, t.slope)
}
