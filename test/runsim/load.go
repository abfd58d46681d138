package main

import (
	"hash/fnv"
	"math"
	"time"

	"nodal/sim/cri"
)

// load returns made-up usage of a container: waves that depend on its name, so that charts have
// something to draw. Memory grows to a level and varies around it.
func load(c cri.Container, ran time.Duration) (time.Duration, uint64) {
	hash := fnv.New32a()
	hash.Write([]byte(c.Name))
	size := 1 + float64(hash.Sum32()%5)                 // from 1 to 5
	period := 40 + 15*size                              // seconds
	t, turn := ran.Seconds(), 2*math.Pi/period          // of the wave
	cores := 0.02 * size                                // on average
	wave := 0.8 * cores / turn * (1 - math.Cos(t*turn)) // the integral of the rate, which never falls
	memory := 6 * size * (1 - math.Exp(-t/45)) * (1 + 0.08*math.Sin(3*t*turn))
	return time.Duration((cores*t + wave) * float64(time.Second)), uint64((2 + memory) * (1 << 20))
}
