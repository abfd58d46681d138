// Package decide says what is next for the workloads of a node: which pods to make or to delete, which objects to change,
// and which status to show. It is a pure function of one look at the node.
//
//	World (objects, pods, the time) ──▶ Next ──▶ Plan (changes, and when to look again)
//
// No decision needs a memory: a crash after any change leaves a node from which the same function goes on. A pod's name
// follows from its owner and from the names that are taken, and is made only if nothing has that name. So the repetition of
// a decision makes no second pod. Each change is to be carried out only if its object is as it was in the look.
//
// Start reading at Next in world.go, then replica_set.go.
package decide
