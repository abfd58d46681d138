//go:build race

package sim

// A run has one goroutine; the race detector only has to see that runs share
// nothing.
const defaultSeeds = 100
