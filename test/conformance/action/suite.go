package action

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/reconciler"
)

// Runtime is a runtime under test and what a test needs to know of it.
type Runtime struct {
	reconciler.Runtime
	Images reconciler.Images
	// Run has a container run a program: it sets its image and its command.
	Run func(*corev1.Container, Program)
	// Ready reports whether a program that runs on has come to heed signals. With nil it does at once.
	Ready func(node.Container) bool
	// Now is the time as the runtime goes by it, and Pass lets some of it go by.
	Now  func() time.Time
	Pass func(time.Duration)
}

// Program names a way for a container to spend its life.
type Program uint8

const (
	Forever    Program = iota // runs on, and exits with 143 soon after SIGTERM
	IgnoreTerm                // runs on, SIGTERM or not
	Fails                     // exits with code 1 within a few seconds
	Missing                   // cannot be started
)

// cases are independent of each other: each has a pod of its own.
var cases = []struct {
	name string
	run  func(*pod)
}{
	{"a look at a pod that has nothing shows nothing", nothingIsShown},
	{"a look at everything shows each pod under its key", everyPodIsShown},
	{"pods that share a name are told apart by uid", uidsAreKept},
	{"what is no runtime's business is unsupported", foreignActions},

	{"a sandbox is ready, shown and has an address", sandboxIsReady},
	{"a sandbox's attempt is taken until the sandbox is removed", sandboxAttemptIsTaken},
	{"stopping a sandbox kills what runs in it", sandboxStopKills},
	{"stopping and removing a sandbox twice succeeds", sandboxEndsTwice},
	{"removing a sandbox takes its containers along", sandboxRemovalTakesContainers},
	{"inspecting a missing sandbox says that it is not found", sandboxMissing},

	{"a container is made, then runs, then has exited", containerLives},
	{"a container is shown as what it was made from", containerIsDescribed},
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
