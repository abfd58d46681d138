package adapter

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/sim/cri"
)

// witness compares what happened in the runtime with what clients were promised. It keeps the first
// violation.
type witness struct {
	*ledger
	server *cri.Server
	trace  *trace
	lies   bool // the runtime may report a definite failure although it had the effect
	ready  bool // every source has delivered to an agent

	seen  int // effects judged so far
	boxes map[string]*box
	runs  map[string]*instance // by container ID

	mu      sync.Mutex // guards the fields below, which calls write
	failure error
	met     map[string]int        // counts situations, by their names
	asked   map[string][]*asked   // calls that make something, by its name
	hashes  map[instanceID]string // hashes of the specs that containers were made from
}

// box is a sandbox as it truly was.
type box struct {
	pod   cri.Pod
	ready bool
	gone  bool
	late  bool            // made by a call that the agent had given up
	done  map[string]bool // init containers that succeeded in it
}

// instanceID names a run of a container.
type instanceID struct {
	uid       types.UID
	container string
	attempt   uint32
}

// instance is a run of a container as it truly was.
type instance struct {
	id      instanceID
	box     *box
	began   bool
	running bool
	code    int32
	termed  time.Time
}

func (i *instance) String() string {
	return fmt.Sprintf("container %s of %s, attempt %d", i.id.container, i.box.pod, i.id.attempt)
}

func newWitness(server *cri.Server, t *trace) *witness {
	return &witness{
		ledger: &ledger{wanted: map[node.Key]*life{}, lives: map[types.UID]*life{}}, server: server, trace: t,
		met: map[string]int{}, boxes: map[string]*box{}, runs: map[string]*instance{},
		asked: map[string][]*asked{}, hashes: map[instanceID]string{},
	}
}

func (w *witness) failf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		w.failure = fmt.Errorf(format, args...)
		w.trace.addf("FAILURE: %v", w.failure)
	}
}

// meet counts a situation. Runs without violations prove nothing about situations that never
// occurred.
func (w *witness) meet(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.met[what]++
}

func (w *witness) check(err error) {
	if err != nil {
		w.failf("%w", err)
	}
}

func (w *witness) verdict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}

// skip accepts all effects so far without judging them.
func (w *witness) skip() {
	for _, e := range w.server.Journal()[w.seen:] {
		w.happened(e)
		w.seen++
	}
}

// look judges the effects since the last look against what clients were promised meanwhile.
func (w *witness) look(a *agent) {
	for _, e := range w.server.Journal()[w.seen:] {
		w.trace.addAt(e.At, "runtime: %s", e)
		w.meet(string(e.Kind))
		w.judge(e)
		w.happened(e)
		w.seen++
	}
	if a == nil {
		return
	}
	views, _ := a.store.Views()
	for _, v := range views {
		if l := w.lives[v.Slot.Pod.UID()]; l != nil && v.Slot.Result != nil {
			l.result = true
		}
	}
}

// happened records an effect.
func (w *witness) happened(e cri.Effect) {
	run, home := w.runs[e.ContainerID], w.boxes[e.SandboxID]
	switch e.Kind {
	case cri.SandboxStarted:
		w.boxes[e.SandboxID] = &box{pod: e.Pod, ready: true, late: w.late(makesSandbox(e), e.At), done: map[string]bool{}}
	case cri.SandboxStopped:
		home.ready = false
	case cri.SandboxRemoved:
		home.gone = true
	case cri.ContainerCreated:
		id := instanceID{types.UID(e.Pod.UID), e.Container, e.Attempt}
		w.runs[e.ContainerID] = &instance{id: id, box: home}
	case cri.ContainerStarted:
		run.began, run.running = true, true
	case cri.ContainerSignaled:
		if e.Signal == cri.Term && run.termed.IsZero() {
			run.termed = e.At
		}
	case cri.ContainerExited:
		run.running, run.code = false, e.ExitCode
		home.done[e.Container] = e.ExitCode == 0
	}
}

// judge returns an error if an effect breaks a promise.
func (w *witness) judge(e cri.Effect) {
	if e.Pod.UID == foreignUID {
		w.failf("a pod that no kubelet made is touched: %s", e)
	}
	if e.Pod.UID == strayUID && e.Kind != cri.ContainerExited && !w.ready {
		w.failf("a pod is touched before it is certain that no source wants it: %s", e)
	}
	switch e.Kind {
	case cri.SandboxStarted:
		w.denied(makesSandbox(e), e)
		w.sandboxStarts(e)
	case cri.ContainerCreated:
		w.denied(makesContainer(e), e)
	case cri.ContainerStarted:
		w.denied(starts(e), e)
		w.containerStarts(w.runs[e.ContainerID], e)
	case cri.ContainerSignaled:
		w.containerEnds(w.runs[e.ContainerID], e)
	}
}

// sandboxStarts checks that a pod has one sandbox at a time, and that its name is free of the
// former pod.
func (w *witness) sandboxStarts(e cri.Effect) {
	if w.late(makesSandbox(e), e.At) {
		w.meet("late sandbox")
		return
	}
	for _, other := range w.boxes {
		same := other.pod.Namespace == e.Pod.Namespace && other.pod.Name == e.Pod.Name && other.pod.UID != foreignUID
		switch {
		case !same || other.gone || other.late:
		case other.pod.UID != e.Pod.UID:
			w.failf("the name of %s is used by %s while a sandbox of the former is there", other.pod, e.Pod)
		case other.ready:
			w.failf("a second sandbox is made for %s while its first is ready", e.Pod)
		}
	}
}

// containerStarts checks a start: no other instance runs, attempts grow, the policy or a client
// wants a restart, and the init containers are done.
func (w *witness) containerStarts(run *instance, e cri.Effect) {
	l := w.lives[run.id.uid]
	late := w.late(starts(e), e.At)
	for _, other := range w.runs {
		if other == run || other.id.uid != run.id.uid || other.id.container != run.id.container || !other.began {
			continue
		}
		if other.running {
			w.failf("two instances run at once: %s and %s", other, run)
		}
		if l != nil && l.robbed {
			continue // an agent may act on its own view of the runs it saw
		}
		if other.id.attempt >= run.id.attempt {
			w.failf("%s begins after attempt %d", run, other.id.attempt)
		}
		if l != nil && !late && other.id.attempt+1 == run.id.attempt && !w.mayFollow(l, other, run) {
			w.failf("%s begins though attempt %d ended with %d", run, other.id.attempt, other.code)
		}
	}
	if late {
		w.meet("late start")
	}
	if l == nil || late {
		return
	}
	if l.result && !l.robbed {
		w.failf("%s begins though its pod has ended", run)
	}
	for _, before := range l.object.Spec.InitContainers {
		if before.Name != run.id.container && !run.box.done[before.Name] {
			w.failf("%s begins before init container %s has succeeded", run, before.Name)
		}
	}
}

// mayFollow reports whether a run may come after another one.
func (w *witness) mayFollow(l *life, last, next *instance) bool {
	spec := l.spec(next.id.container)
	if spec == nil || node.Rerun(&l.object.Spec, spec, last.code) {
		return true
	}
	asked, ok := l.restarts[next.id.container]
	again := node.InitContainer(&l.object.Spec, next.id.container) != nil && last.box != next.box
	return again || ok && asked >= last.id.attempt || w.outdated(l, last)
}

// containerEnds checks that a wanted, healthy container runs on, and that one which has to end gets
// its grace period.
func (w *witness) containerEnds(run *instance, e cri.Effect) {
	l := w.lives[run.id.uid]
	if l == nil {
		return
	}
	asked, restarts := l.restarts[run.id.container]
	if !l.gone && run.box.ready && !(restarts && asked >= run.id.attempt) && !w.outdated(l, run) {
		w.failf("%s is ended though it is healthy and wanted: %s", run, e)
	}
	if e.Signal != cri.Kill || !l.deadline.IsZero() && !e.At.Before(l.deadline) {
		return
	}
	switch {
	case run.termed.IsZero():
		w.failf("%s is killed without being asked to end", run)
	case e.At.Sub(run.termed) < l.grace:
		w.failf("%s is killed %s after it was asked to end; its grace period is %s", run, e.At.Sub(run.termed), l.grace)
	}
}

// outdated reports whether a run was made from a spec that is no longer wanted.
func (w *witness) outdated(l *life, run *instance) bool {
	spec := l.spec(run.id.container)
	w.mu.Lock()
	defer w.mu.Unlock()
	return spec == nil || !manifest.IsHashOf(w.hashes[run.id], spec)
}
