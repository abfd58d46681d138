package evict

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node/health"
)

const (
	// idlePace is the pause between two measurements while nothing is near its threshold, as upstream has it.
	idlePace = 10 * time.Second
	// nearPace is the pause while a signal is below its threshold, or could soon be.
	nearPace = time.Second
	// The shortest pauses while a signal moves towards its threshold.
	memoryPace, otherPace = 50 * time.Millisecond, 250 * time.Millisecond
)

// Pace returns the pause until the next measurement. It depends on how far each signal is from its threshold, and on
// how fast it approaches: a signal that rests may begin to move at full speed, and one that moves is met half-way.
func Pace(before, now health.Pressure) time.Duration {
	pause := idlePace
	for _, s := range now.Signals {
		gap, bounded := now.Gap(s)
		if !bounded {
			continue
		}
		pause = min(pause, max(nearPace, span(gap, fastest(s.Name))))
		was, known := before.Signal(s.Name)
		took := now.At.Sub(before.At)
		if !known || took <= 0 || was.Left <= s.Left || gap <= 0 {
			continue
		}
		speed := float64(was.Left-s.Left) / took.Seconds()
		pause = min(pause, max(shortest(s.Name), span(gap, speed)/2))
	}
	return pause
}

// span returns the time in which a gap is gone at a speed, up to an hour.
func span(gap int64, speed float64) time.Duration {
	if gap <= 0 {
		return 0
	}
	return time.Duration(min(float64(gap)/speed, 3600) * float64(time.Second))
}

// fastest returns how much of a resource a machine can use up in a second, by experience.
func fastest(signal string) float64 {
	switch health.Lacks(signal) {
	case corev1.ResourceMemory:
		return 2 << 30
	case corev1.ResourceEphemeralStorage:
		return 500 << 20
	case health.Inodes:
		return 200_000
	}
	return 50_000
}

func shortest(signal string) time.Duration {
	if health.Lacks(signal) == corev1.ResourceMemory {
		return memoryPace
	}
	return otherPace
}
