//go:build !race

package sim

const defaultSeeds = 5_000
