package soak

import (
	"math/rand/v2"
	"testing"
)

// series returns n looks, 50 pods apart, at a figure that these functions of the pods so far and of the look make.
func series(n int, value func(lives float64, look int) float64, run func(look int) int) (points []point) {
	for i := range n {
		lives := 50 * i
		points = append(points, point{lives, run(i), value(float64(lives), i)})
	}
	return points
}

func oneRun(int) int { return 0 }

func TestATrendAboveTheNoiseIsALeak(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	noise := func() float64 { return 4 * random.Float64() }
	for _, c := range []struct {
		name   string
		points []point
		want   bool
	}{
		{"a figure that stays", series(40, func(float64, int) float64 { return 20 }, oneRun), false},
		{"a figure that varies", series(400, func(float64, int) float64 { return 20 + noise() }, oneRun), false},
		{"a few looks that vary", series(6, func(float64, int) float64 { return 20 + noise() }, oneRun), false},
		{"one open file for each pod", series(6, func(lives float64, _ int) float64 { return 20 + lives + noise() }, oneRun), true},
		{"one open file for 100 pods, among noise", series(400, func(lives float64, _ int) float64 { return 20 + lives/100 + noise() }, oneRun), true},
		{"growth that ends with the warm-up", series(40, func(lives float64, _ int) float64 { return min(lives, 900) }, oneRun), false},
		{"one odd look", series(40, func(_ float64, look int) float64 {
			if look == 39 {
				return 500
			}
			return 20
		}, oneRun), false},
		{"a higher level after a restart", series(40, func(_ float64, look int) float64 { return float64(look / 20 * 100) },
			func(look int) int { return look / 20 }), false},
		{"a leak that each restart ends", series(100, func(_ float64, look int) float64 { return float64(look % 20 * 50) },
			func(look int) int { return look / 20 }), true},
		{"a fall", series(40, func(lives float64, _ int) float64 { return 5000 - lives }, oneRun), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := trendOf(c.points)
			if leaks := got.leaks(bound{growth: 2, noise: 6}); leaks != c.want || got.pairs == 0 {
				t.Errorf("got %t for %s of %d pairs, want %t", leaks, got, got.pairs, c.want)
			}
		})
	}
}

func TestNoPairsMakeNoTrend(t *testing.T) {
	for _, points := range [][]point{nil, {{lives: 1, value: 3}}, {{lives: 1, run: 1}, {lives: 2, run: 2}}} {
		if got := trendOf(points); got.pairs != 0 || got.slope != 0 {
			t.Errorf("%v: got %s of %d pairs, want none", points, got, got.pairs)
		}
	}
}
