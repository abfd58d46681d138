package sim

import (
	"strings"
	"time"
)

// script is the behaviour of a container. The name of its image selects it.
type script struct {
	lasts  time.Duration // until it exits by itself; zero: never
	exit   int32
	ending time.Duration // from TERM to its exit
	deaf   bool          // it ignores TERM
	broken bool          // its start fails
}

// programs returns the images that exist, without their tags.
func programs() [6]string {
	return [...]string{"forever", "slow", "deaf", "job", "crash", "broken"}
}

func scriptOf(image string) script {
	name, _, _ := strings.Cut(image, ":")
	program, ok := strings.CutPrefix(name, "sim/")
	if !ok {
		return script{} // runs until TERM, then exits at once
	}
	switch program {
	case "slow":
		return script{ending: 8 * time.Second}
	case "deaf":
		return script{deaf: true}
	case "job":
		return script{lasts: 4 * time.Second}
	case "crash":
		return script{lasts: 2 * time.Second, exit: 1}
	case "broken":
		return script{broken: true}
	}
	return script{ending: 10 * time.Millisecond}
}

// endless reports whether the container runs until it is asked to end.
func (s script) endless() bool { return s.lasts == 0 && !s.broken }
