package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/intake"
	"nodal/node/manifest"
)

// clients stands for the users of the API and the author of static pods.
type clients struct {
	world  *world
	faults *faults
	posted map[node.Key]*corev1.Pod // the last manifest posted, accepted or not
	files  map[node.Key]*corev1.Pod
	uids   int
	owed   bool // the node could not take the files, so they are delivered again
	filed  *filed
}

// apiNames returns the names of pods that users post.
func apiNames() [2]string { return [...]string{"web", "db"} }

// fileNames returns the names of static pods.
func fileNames() [1]string { return [...]string{"static"} }

func newClients(w *world, f *faults, filed bool) *clients {
	c := &clients{world: w, faults: f, posted: map[node.Key]*corev1.Pod{}, files: map[node.Key]*corev1.Pod{}}
	c.filed = newFiled(c, filed)
	return c
}

func (c *clients) intake(a *agent, source node.Source) intake.Intake {
	return intake.Intake{Store: a.store, Source: source, Offer: c.world.offers, Present: a.present, Storage: c.world.keeper(), NewUID: func() types.UID {
		c.uids++
		return types.UID(fmt.Sprintf("u%d", c.uids))
	}}
}

// present returns the node's state for the admission of new pods.
func (a *agent) present() admit.Present { return admit.Present{Down: a.machine.Down()} }

func (c *clients) pick(n int) int { return c.world.rand.IntN(n) }

// act does one random thing that a client may do.
func (c *clients) act(a *agent) {
	users, authors := apiNames(), fileNames()
	key := node.Key{Namespace: "default", Name: users[c.pick(len(users))]}
	switch c.pick(16) {
	case 0, 1, 2, 3, 4:
		c.apply(a, key)
	case 5, 6:
		c.remove(a, key)
	case 7:
		c.restart(a, key)
	case 12, 13:
		c.post(a)
	case 14, 15:
		c.debug(a, key)
	default:
		c.edit(node.Key{Namespace: "default", Name: authors[c.pick(len(authors))]})
		if !a.waiting[node.SourceFile] {
			c.deliver(a)
		}
	}
	a.turn()
}

// apply posts a manifest: a new one, the last one, or a change of the last one.
func (c *clients) apply(a *agent, key node.Key) {
	pod := c.posted[key]
	if pod == nil || c.pick(6) == 0 {
		pod = c.newPod(key)
	} else if c.pick(5) > 0 {
		pod = c.change(pod)
	}
	c.posted[key] = pod
	outcomes, revision, err := c.intake(a, node.SourceAPI).Apply([]intake.Delivery{{Pod: pod}}, c.world.clock())
	if err != nil {
		c.world.trace.addf("client: apply %s: %v", key, err)
		return
	}
	c.world.trace.addf("client: apply %s: %s %s at %d %q", key, outcomes[0].Verdict, outcomes[0].UID, revision, outcomes[0].Warnings)
	c.world.met.addf("client: %s%s", outcomes[0].Verdict, restartNote(outcomes[0]))
	c.told(a, key)
	if l := c.world.witness.wanted[key]; l == nil || !sameSpec(l.object, pod) {
		c.world.witness.failf("apply of %s was acknowledged and is not in force", key)
	}
}

// restartNote returns what to add to the name of a situation if a change restarts containers of a pod that stays.
func restartNote(o intake.Outcome) string {
	if o.Verdict == intake.Updated && len(o.Restarts) > 0 {
		return " with a restart"
	}
	return ""
}

// debug adds an ephemeral container to a pod, which does not change its manifest.
func (c *clients) debug(a *agent, key node.Key) {
	view, ok := a.store.View(key)
	if !ok || c.posted[key] == nil {
		return
	}
	pod, taken := c.posted[key].DeepCopy(), heirOf(view.Slot).Object.Spec.EphemeralContainers
	added := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: fmt.Sprintf("debug%d", len(taken)), Image: c.image(),
	}}
	if c.pick(2) == 0 {
		added.TargetContainerName = "a"
	}
	pod.Spec.EphemeralContainers = append(slices.Clone(taken), added)
	manifest.Default(pod)
	_, _, err := c.intake(a, node.SourceAPI).Apply([]intake.Delivery{{Pod: pod}}, c.world.clock())
	c.world.trace.addf("client: debug %s with %s: %v", key, added.Name, err)
	if err != nil {
		return
	}
	c.told(a, key)
	if l := c.world.witness.wanted[key]; l == nil || len(l.object.Spec.EphemeralContainers) <= len(taken) {
		c.world.witness.failf("the ephemeral container of %s was acknowledged and is not there", key)
	}
}

// heirOf returns the pod that holds the name in the end.
func heirOf(slot *node.Slot) *node.Pod {
	if slot.Next != nil {
		return slot.Next
	}
	return slot.Pod
}

// sameSpec reports whether the node took a pod as the client posted it.
func sameSpec(taken, posted *corev1.Pod) bool {
	placed := posted.DeepCopy()
	placed.Spec.NodeName = taken.Spec.NodeName
	placed.Spec.Priority, placed.Spec.PreemptionPolicy = taken.Spec.Priority, taken.Spec.PreemptionPolicy // of its class
	return manifest.Change(taken, placed).Kind == manifest.Same
}

// told records in the ledger what a client was answered.
func (c *clients) told(a *agent, key node.Key) {
	view, _ := a.store.View(key)
	c.world.witness.acknowledge(key, view.Slot)
}

func (c *clients) remove(a *agent, key node.Key) {
	r := intake.DeleteRequest{Key: key}
	if c.pick(2) == 0 {
		grace := time.Duration(c.pick(40)) * time.Second
		r.Grace = &grace
	}
	_, err := c.intake(a, node.SourceAPI).Delete(r, c.world.clock())
	c.world.trace.addf("client: delete %s: %v", key, err)
	if err == nil {
		c.told(a, key)
		if c.world.witness.wanted[key] != nil {
			c.world.witness.failf("delete of %s was acknowledged and is not in force", key)
		}
	}
}

func (c *clients) restart(a *agent, key node.Key) {
	container := ""
	if c.pick(2) == 0 {
		container = "a"
	}
	err := c.intake(a, node.SourceAPI).Restart(intake.RestartRequest{Key: key, Container: container})
	c.world.trace.addf("client: restart %s %s: %v", key, container, err)
	if err == nil {
		c.told(a, key)
	}
}

// edit changes the directory of static pods.
func (c *clients) edit(key node.Key) {
	old, there := c.files[key]
	switch {
	case there && c.pick(3) == 0:
		delete(c.files, key)
		c.posted[key] = old
		return
	case !there && c.posted[key] != nil && c.pick(2) == 0:
		c.files[key] = c.posted[key] // the same file comes back
		return
	case there:
		c.files[key] = c.change(old)
	default:
		c.files[key] = c.newPod(key)
	}
	c.files[key].UID = types.UID("f" + manifest.PodHash(c.files[key])[:12])
}

// deliver hands all static pods to the node, and again later if it cannot take them now. It
// delivers only what the ledger has as taken: a pod that could not be recorded must not pass for an
// unwanted one.
func (c *clients) deliver(a *agent) {
	if a.dead {
		return
	}
	in := c.intake(a, node.SourceFile)
	deliveries, keep := c.filed.deliveries(in, a.bug)
	for _, key := range sortedKeys(c.files) {
		deliveries = append(deliveries, intake.Delivery{Pod: c.files[key], Origin: key.String()})
	}
	problems := in.Sync(deliveries, keep, c.world.clock())
	crashed := slices.ContainsFunc(slices.Collect(maps.Values(problems)), func(err error) bool { return errors.Is(err, errCrashed) })
	if crashed {
		c.world.met.addf("files: the agent dies in a delivery")
	} else {
		c.filed.judge(a, problems)
	}
	for _, name := range fileNames() {
		key := node.Key{Namespace: "default", Name: name}
		err := problems[key.String()]
		c.world.trace.addf("client: deliver %s: %v", key, err)
		if err == nil { // it is in force, even if the agent died in a later commit
			c.told(a, key)
		}
	}
	c.owed = len(problems) > 0
	switch {
	case crashed:
	case c.owed:
		c.world.after(10*time.Second, func() { c.deliver(a) })
	case a.waiting[node.SourceFile]:
		c.world.witness.files = true
		a.delivered(node.SourceFile)
	}
	a.turn()
}

func sortedKeys[V any](m map[node.Key]V) []node.Key {
	return slices.SortedFunc(maps.Keys(m), node.Key.Compare)
}
