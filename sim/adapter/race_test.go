//go:build race

package adapter

// defaultSeeds is small: the race detector makes seeds ten times slower, and goroutines meet in the
// same ways in each.
const defaultSeeds = 20
