//go:build !race

package adapter

const defaultSeeds = enough
