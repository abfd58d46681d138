//go:build !race

package sim

const defaultSeeds = 10_000
