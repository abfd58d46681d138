// Package decide says what to do next for one pod, or for one asset of the node. It is
// pure: the durable slot, the newest observation and the time go in, a Plan comes out,
// and the same input always gives the same plan.
//
// A list of steps makes a plan. Each step is in a file of its name, reads a View and adds
// actions. A step that returns done ends the list: no later step may act yet. The actions
// of one plan do not depend on each other and run side by side. An action that depends on
// an effect waits for the next plan.
//
//	setup:    strays → unheard → settled → learn → noteLost → deadline → terminated → awaited → startOver → retire → sandbox → cgroup → postStart → noteHealth → condemned → resize → volumes → images → prune → ephemeral → initContainers → containers → settle
//	teardown: strays → stopContainers → stopSandboxes → removeSandboxes → tearDown (cgroup, volumes, logs) → forget
//
// A facility of a pod, such as its volumes, has a step that sets it up, in a file of its
// own, and a place among the teardowns; see node.Facility. Each kind of asset has one function.
//
// The caller's contract: decide only on an observation that is newer than the
// last own effect, and never start an action whose target is busy. Package
// reconciler keeps the contract; the simulation in package sim shows what breaks otherwise.
//
// Start reading at Pod in plan.go.
package decide
