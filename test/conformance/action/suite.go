package action

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/reconciler"
)

// Runtime holds a runtime under test, and what a test needs to know of it.
type Runtime struct {
	reconciler.Runtime
	Images reconciler.Images
	// Run sets the image and command of a container that runs a program.
	Run func(*corev1.Container, Program)
	// Ready reports whether a running program handles signals yet. If nil, it always does.
	Ready func(node.Container) bool
	// Now returns the runtime's time, and Pass lets time pass.
	Now  func() time.Time
	Pass func(time.Duration)
}

// Program names the behaviour of a container.
type Program uint8

const (
	Forever    Program = iota // runs until SIGTERM, then exits with 143
	IgnoreTerm                // runs until SIGKILL
	Fails                     // exits with code 1 within a few seconds
	Missing                   // fails to start
)

// cases are independent: each has a pod of its own.
var cases = []struct {
	name string
	run  func(*pod)
}{
	{"a look at a pod without sandboxes shows nothing", nothingIsShown},
	{"a look at everything shows each pod under its key", everyPodIsShown},
	{"pods that share a name are distinguished by UID", uidsAreKept},
	{"an action that is not the runtime's is unsupported", foreignActions},

	{"a sandbox is ready, shown and has an address", sandboxIsReady},
	{"a sandbox's attempt is taken until the sandbox is removed", sandboxAttemptIsTaken},
	{"stopping a sandbox kills what runs in it", sandboxStopKills},
	{"stopping and removing a sandbox twice succeeds", sandboxEndsTwice},
	{"removing a sandbox removes its containers", sandboxRemovalTakesContainers},
	{"inspecting a missing sandbox says that it is not found", sandboxMissing},

	{"a container is made, then runs, then exits", containerLives},
	{"a container is shown with its spec", containerIsDescribed},
	{"a container's attempt is taken until the container is removed", containerAttemptIsTaken},
	{"runs of a container are shown newest first", newestFirst},
	{"a container of a missing image is not made", containerWithoutImage},
	{"a container in a stopped sandbox is not made", containerWithoutSandbox},
	{"a container starts once", containerStartsOnce},
	{"a container without its program fails to start and has exited", containerWithoutProgram},
	{"inspecting or starting a missing container fails", containerMissing},

	{"a program that answers SIGTERM exits by itself", stopTerminates},
	{"a stop kills after its grace period, and leaves two seconds at least", stopKills},
	{"stopping what has ended or is missing changes nothing", stopOfEnded},
	{"removing a container kills it, and twice succeeds", containerRemoval},
}

// Run puts the runtime through every case.
func Run(t *testing.T, rt Runtime) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.run(newPod(t, rt, strings.ReplaceAll(strings.ReplaceAll(c.name, " ", "-"), ",", "")))
		})
	}
}
