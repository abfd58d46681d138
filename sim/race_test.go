//go:build race

package sim

// defaultSeeds is small: a run has one goroutine, and the race detector only checks that runs share
// nothing.
const defaultSeeds = 100
