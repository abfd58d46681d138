package reconciler

import (
	"nodal/node"
	"nodal/reconciler/decide"
)

// Prober asks containers how they are.
type Prober interface {
	// Set replaces the probes of a pod that have to run. What was set before and
	// is set again goes on.
	Set(key node.Key, probes []node.Probe)
	// Results tells what changes.
	Results() <-chan node.Probed
}

// show lets the pod's readers and its probes follow what is known now.
func (r *Reconciler) show(t *tracked) {
	r.publish(t)
	r.Prober.Set(t.key, decide.Probes(r.Site, t.Slot(), t.Got()))
}

// hear takes the word of a probe. It is shown also while the runtime is away:
// who sends requests to the pod wants to know at once.
func (r *Reconciler) hear(word node.Probed) {
	if t, ok := r.tracks[word.Key]; ok && t.Hear(word) {
		r.show(t)
		r.dirty[t.key] = true
	}
}
