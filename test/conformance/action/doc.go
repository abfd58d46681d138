// Package action describes the behaviour that the reconciler needs of a reconciler.Runtime, as
// tests for each implementation: the effect of an action, the meaning of its error, what a look
// shows afterwards, and the effect of a repetition.
//
//	host/cri on a real containerd ─┐
//	host/cri on sim/cri            ├─▶ Run
//	sim.Machine                    ┘   (in package sim)
//
// Seeds and scripts play on sim.Machine, so their results hold on a node as far as these cases go.
// Package conformance does the same one layer below, for CRI.
//
// Start reading at Run; the cases are in one file a noun.
package action
