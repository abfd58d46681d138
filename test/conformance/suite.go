package conformance

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Runtime holds a runtime under test, and what a test needs to know of it.
type Runtime struct {
	Conn         grpc.ClientConnInterface
	Image        string // a small image that can be pulled
	LogDir       string // an existing directory, in which the runtime writes logs
	CgroupParent string // the parent of pods' cgroups; empty: the runtime's choice
	Programs     Programs
}

// Programs holds commands that exist in the image. Those that run on print "ready" once they handle
// signals as their name says.
type Programs struct {
	Run        []string // runs until SIGTERM, then exits with 143
	SlowTerm   []string // runs until half a second after SIGTERM, then exits with 143
	IgnoreTerm []string // runs until SIGKILL
	Exit3      []string // exits with code 3
	Hello      []string // prints "hello" to stdout, "oops" to stderr and exits with 0
	Missing    []string // does not exist
}

// cases are independent: each has a pod of its own.
var cases = []struct {
	name string
	run  func(*testing.T, *pod)
}{
	{"a sandbox is ready and has an address", sandboxIsReady},
	{"a sandbox name is taken until its sandbox is removed", sandboxNameIsReserved},
	{"of two overlapping calls for one sandbox one succeeds", sandboxRunsOnce},
	{"a sandbox keeps its labels and annotations", sandboxKeepsLabels},
	{"sandboxes are listed by id, state and label", sandboxesAreFiltered},
	{"stopping a sandbox kills its containers and frees its address", sandboxStopKills},
	{"stopping and removing a sandbox twice succeeds", sandboxStopIsIdempotent},
	{"removing a running sandbox removes its containers", sandboxRemoveForces},
	{"the status of a missing sandbox is NotFound", sandboxMissing},
	{"a container cannot be created in a stopped sandbox", stoppedSandboxTakesNoContainer},

	{"a container is created, then runs, then has exited", containerLives},
	{"a container name is taken until its container is removed", containerNameIsReserved},
	{"a container keeps its labels and annotations", containerKeepsLabels},
	{"containers are listed by id, sandbox, state and label", containersAreFiltered},
	{"a container starts once", containerStartsOnce},
	{"a container without its program fails to start and has exited", containerWithoutProgram},
	{"a container of a missing image is not created", containerWithoutImage},
	{"the status of a missing container is NotFound", containerMissing},
	{"removing a running container kills it", containerRemoveForces},
	{"removing a missing container succeeds", containerRemoveIsIdempotent},
	{"a log has a time, a stream and a tag in each line", logHasFormat},
	{"a moved log is reopened in its place", logIsReopened},

	{"a program that answers SIGTERM exits by itself", stopTerminates},
	{"stopping waits for a slow program", stopWaits},
	{"stopping kills a program only after its grace period", stopKillsAfterGrace},
	{"stopping without a grace period kills at once", stopWithoutGrace},
	{"stopping again with less time ends sooner", secondStopShortens},
	{"stopping an exited container changes nothing", stopOfExited},
	{"stopping a container that was not started changes nothing", stopOfCreated},
	{"stopping a missing container succeeds or returns NotFound", stopOfMissing},
	{"a client that gives up a stop leaves the grace period whole", abandonedStop},

	{"exec returns the output and the exit code", execAnswers},
	{"exec ends at its timeout", execTimesOut},
	{"exec in an exited container fails", execInExited},

	{"an image is pulled and described", imageIsDescribed},
	{"the status of a missing image is empty", imageMissing},
	{"pulling a missing image fails", imagePullFails},
	{"removing an image twice succeeds", imageRemoveIsIdempotent},
}

// Run puts the runtime through every case.
func Run(t *testing.T, rt Runtime) {
	images := runtime.NewImageServiceClient(rt.Conn)
	image := &runtime.ImageSpec{Image: rt.Image}
	if _, err := images.PullImage(t.Context(), &runtime.PullImageRequest{Image: image}); err != nil {
		t.Fatalf("pull the test image: %v", err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.run(t, newPod(t, rt, strings.ReplaceAll(c.name, " ", "-")))
		})
	}
}
