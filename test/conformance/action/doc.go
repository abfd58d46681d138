// Package action says what the reconciler relies on in a reconciler.Runtime, as
// tests that each of them can be put through: what an action does, what its
// error means, what a look shows after it, and what asking twice does.
//
//	host/cri on a real containerd ─┐
//	host/cri on sim/cri            ├─▶ Run
//	sim.Machine                    ┘   (in package sim)
//
// Seeds and scripts play on sim.Machine, so what they prove holds on a node as far
// as these cases go. Package conformance does the same one floor below, for CRI.
//
// Start reading at Run; the cases are in one file a noun.
package action
