package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/node/store"
)

// witness compares the world with what clients were told. It keeps the first violation.
type witness struct {
	*ledger
	jumps    bool      // the clock jumps, so the end of a grace period is uncertain
	files    bool      // the files have delivered to the present agent
	cluster  bool      // there is none, or it has been heard by the present agent
	member   types.UID // of a pod of the cluster that another kubelet has started
	revision int64
	failure  error
	strays   map[types.UID]time.Time // when the agent has to have ended unwanted pods
	past     map[within]uint32       // by init container: the run after the one that let the next container begin
	vanished map[string]uint32       // the newest vanished run, by container and UID
	once     map[string]bool         // ephemeral containers that were started, by container and UID
	times    times
}

// within names a container of a sandbox.
type within struct{ sandbox, container string }

func newWitness() *witness {
	return &witness{
		ledger: newLedger(), strays: map[types.UID]time.Time{},
		past: map[within]uint32{}, vanished: map[string]uint32{}, once: map[string]bool{}, times: newTimes(),
	}
}

func (wi *witness) failf(format string, args ...any) {
	if wi.failure == nil {
		wi.failure = fmt.Errorf(format, args...)
	}
}

// runs checks that a container has at most one running instance.
func (wi *witness) runs(w *world, c *container) {
	for _, o := range w.containers {
		if o != c && o.uid == c.uid && o.name == c.name && o.running() {
			wi.failf("two instances run at once: %s and %s", o, c)
		}
	}
	wi.runsOnce(c)
	wi.runsNoMore(c)
	wi.runsAfter(w, c)
}

// runsAfter checks that a pod begins only after the pods that had to end for it.
func (wi *witness) runsAfter(w *world, c *container) {
	l := wi.lives[c.life]
	if l == nil || c.late {
		return
	}
	for _, o := range w.containers {
		if slices.Contains(l.awaits, o.life) && o.running() && !o.late {
			wi.failf("%s begins while %s runs, which has to make room for it", c, o)
		}
	}
}

// runsOnce checks that an ephemeral container is never started again.
func (wi *witness) runsOnce(c *container) {
	l := wi.lives[c.life]
	if l == nil || node.EphemeralContainer(&l.object.Spec, c.name) == nil {
		return
	}
	key := c.name + string(c.uid)
	if wi.once[key] {
		wi.failf("%s is ephemeral and was started before", c)
	}
	wi.once[key] = true
}

// runsNoMore checks that no container starts in a pod with a final result.
func (wi *witness) runsNoMore(c *container) {
	l := wi.lives[c.life]
	if l == nil || c.late {
		return
	}
	if l = wi.latest(l); l.result != "" {
		wi.failf("%s is started though its pod is %s", c, l.result)
	}
}

// killed checks that no KILL comes before the grace period ends.
func (wi *witness) killed(w *world, c *container) {
	if wi.jumps || c.late {
		return
	}
	if deadline, ok := wi.strays[c.uid]; ok && !deadline.After(w.clock()) {
		return
	}
	grace := c.grace
	l, wanted := wi.lives[c.life], wi.wanted[c.key]
	if l == nil && wanted != nil && wanted.id.uid == c.uid {
		l = wanted // another kubelet has started it
	}
	if l != nil {
		if l.deadline != nil && !l.deadline.After(w.clock()) {
			return
		}
		grace = min(grace, l.grace)
		if w.over(l) && !l.ended.Add(grace).After(w.clock()) {
			return
		}
		if !l.expired.IsZero() && !l.expired.Add(grace).After(w.clock()) {
			return
		}
		if !c.cut.IsZero() && !c.cut.After(w.clock()) {
			return
		}
		// The pod may have got new work since.
		if !c.over.IsZero() && !c.over.Add(grace).After(w.clock()) {
			return
		}
	}
	if c.sick {
		grace = min(grace, probeGrace)
	}
	if wi.restartsWithAll(c) {
		grace = 0
	}
	switch {
	case !c.termed:
		wi.failf("%s was killed without being asked to end", c)
	case w.now-c.asked() < grace:
		wi.failf("%s was killed %s after it was asked to end, its grace period is %s", c, w.now-c.asked(), grace)
	}
}

// sandboxMade checks that a name is free of the former pod, and that a lost sandbox has released
// its network. Calls that the agent had given up do not count.
func (wi *witness) sandboxMade(w *world, s *sandbox) {
	for _, o := range w.sandboxes {
		switch {
		case o == s || o.key != s.key || o.late:
		case o.uid != s.uid:
			wi.failf("the name %s is used by uid %s while sandbox %s of uid %s is there", s.key, s.uid, o.id, o.uid)
		case !o.stopped:
			wi.failf("sandbox %s of %s was made while sandbox %s holds its network", s.id, s.key, o.id)
		}
	}
}

// verdicts returns, for each running container that a call would end, why it must not; nil where it
// may.
func (wi *witness) verdicts(w *world, c *call) map[string]error {
	verdicts := map[string]error{}
	for _, victim := range w.victims(c.action) {
		verdicts[victim.id] = wi.mustRun(w, victim)
	}
	return verdicts
}

// ends checks that a wanted, healthy container runs on. A call is judged by what was wanted when it
// began, and again when it has its effect.
func (wi *witness) ends(w *world, c *call) {
	for _, victim := range w.victims(c.action) {
		wi.endsInOrder(w, c, victim)
		before, judged := c.verdict[victim.id]
		if judged && before == nil || !judged && c.abandoned() {
			continue
		}
		if err := wi.mustRun(w, victim); err != nil {
			wi.failf("%s is ended by %q: %w", victim, c.action, err)
		}
	}
}

// victims returns the running containers that an action ends.
func (w *world) victims(action node.Action) []*container {
	about := action.About()
	switch {
	case !about.Ends:
		return nil
	case about.Container == "":
		return w.inSandbox(about.ID)
	}
	if c := w.container(about.ID); c != nil && c.running() {
		return []*container{c}
	}
	return nil
}

var (
	errWanted  = errors.New("it is wanted and healthy")
	errTooSoon = errors.New("a source has not said yet whether it is wanted")
)

// mustRun returns why a container must not be ended, or nil if it may be.
func (wi *witness) mustRun(w *world, c *container) error {
	own, wanted := wi.lives[c.life], wi.wanted[c.key]
	_, adopted := wi.strays[c.uid]
	switch {
	case own == nil && !adopted && !(wi.files && wi.cluster) && (wanted == nil || wanted.id.uid != c.uid):
		return errTooSoon
	case wanted == nil && c.uid == wi.member:
		return errWanted
	case wanted == nil || wanted.id.uid != c.uid:
		return nil
	case own != nil && (own.replaced || own.deadline != nil):
		return nil
	case !c.sandbox.ready || wanted.result != "" || c.sick || !wanted.expired.IsZero() || w.over(wanted):
		return nil
	case c.hooks.ending || c.hooks.failed && !c.hooks.well:
		return nil
	}
	if asked, ok := wanted.restarts[c.name]; ok && c.attempt <= asked || w.dying(wanted) {
		return nil
	}
	if spec := specOf(wanted.object, c.name); spec == nil || !manifest.IsHashOf(c.hash, spec) {
		return nil
	}
	return errWanted
}

// owes records that a run which ends for another version has to be followed by one.
func (wi *witness) owes(w *world, c *call, run *container) {
	l, spec := wi.wanted[run.key], specOf(c.pod.Object, run.name)
	if c.abandoned() || l == nil || l.id != idOf(c.pod) || run.uid != l.id.uid || spec == nil || manifest.IsHashOf(run.hash, spec) {
		return
	}
	if c.pod.Deletion == nil && l.result == "" && l.expired.IsZero() && run.sandbox.ready && !w.over(l) {
		l.restarts[run.name] = max(l.restarts[run.name], run.attempt)
	}
}

// reads checks a read of the store: revisions and restart counts only grow, and a result stays.
func (wi *witness) reads(w *world, view store.View) {
	if view.Gone {
		return
	}
	if pod := view.Slot.Pod; pod.Source == node.SourceRuntime {
		wi.strays[pod.UID()] = pod.Deletion.Deadline()
	}
	l := wi.lives[idOf(view.Slot.Pod)]
	if l == nil {
		return
	}
	if d := view.Slot.Pod.Deletion; d != nil && w.descent.down {
		wi.condemn(l, d.Deadline()) // a shutdown leaves it less time
	}
	wi.startsOver(w, l, view.Slot)
	l.restart(view.Slot.Pod.Restarts) // a resize may ask for restarts long after the client did
	wi.expires(w, l, view.Slot)
	l.refused = l.refused || view.Slot.Pod.Refused != nil // a pod may be refused before its turn, to make room
	for name, tally := range view.Slot.Tallies {
		if tally.Restarts < l.counts[name] {
			wi.failf("the restarts of %s in %s went back from %d to %d", name, view.Key, l.counts[name], tally.Restarts)
		}
		l.counts[name] = tally.Restarts
	}
	switch result := view.Slot.Result; {
	case result == nil && l.result != "":
		wi.failf("pod %s was %s and has lost its result", view.Key, l.result)
	case result != nil && l.result != "" && result.Phase != l.result:
		wi.failf("pod %s was %s and is %s", view.Key, l.result, result.Phase)
	case result != nil && l.result == "":
		l.result = result.Phase
		wi.restsAlone(w, l)
	}
}

// advances checks that the revision never goes back, not even over a restart.
func (wi *witness) advances(revision int64) {
	if revision < wi.revision {
		wi.failf("the revision went back from %d to %d", wi.revision, revision)
	}
	wi.revision = revision
}
