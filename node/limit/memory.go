package limit

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Memory says how much memory the kernel keeps for pods, and from where on it slows them down. Both take version 2 of
// cgroups. The zero value keeps nothing and slows nothing.
type Memory struct {
	Keep        bool    // the kernel keeps what pods request
	Throttle    float64 // how far a container may go from its request to its limit before it is slowed down
	Page        int64   // bytes of a page of memory
	Allocatable int64   // bytes that stand in for a limit that is not set; zero means unknown
}

// keep has the kernel keep a request: for good if the pod is guaranteed, and if it is burstable, until it has nothing
// else left to take.
func (l *Limits) keep(class corev1.PodQOSClass, request int64, m Memory) {
	switch {
	case !m.Keep:
	case class == corev1.PodQOSGuaranteed:
		l.MemoryMin = request
	case class == corev1.PodQOSBurstable:
		l.MemoryLow = request
	}
}

// high returns the bytes from which on the kernel slows a cgroup down. It is zero if it never does: guaranteed pods use
// no more than they request.
func (m Memory) high(class corev1.PodQOSClass, request, most int64) int64 {
	if m.Throttle == 0 || class == corev1.PodQOSGuaranteed || most == 0 {
		return 0
	}
	page := max(m.Page, 1)
	bytes := int64(float64(request)+float64(most-request)*m.Throttle) / page * page
	if bytes <= request {
		return 0
	}
	return bytes
}

// Guard names what the kernel keeps of a cgroup's memory, and from where on it slows its processes down, by the
// kernel's own names. It is empty if it does neither.
func (l Limits) Guard() string {
	var parts []string
	for _, p := range []struct {
		name  string
		bytes int64
	}{{"memory.min", l.MemoryMin}, {"memory.low", l.MemoryLow}, {"memory.high", l.MemoryHigh}} {
		if p.bytes > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", p.name, p.bytes))
		}
	}
	return strings.Join(parts, " ")
}
