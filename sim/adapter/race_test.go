//go:build race

package adapter

// defaultSeeds are few: the race detector makes them ten times slower, and the ways for
// goroutines to meet are the same in each.
const defaultSeeds = 20
