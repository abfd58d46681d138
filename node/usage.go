package node

import "time"

// Usage is what a container had used at a moment.
type Usage struct {
	At         time.Time
	CPU        time.Duration // on processors, since its start
	Cores      float64       // on average, since the figures before; less than zero: not known
	Memory     uint64        // bytes, with all files that are cached for it
	WorkingSet uint64        // bytes
}
