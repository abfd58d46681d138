// Package capability knows which fields of a pod this node honours, which it
// takes without effect and which it refuses, because a pod that runs without
// what it asked for is worse than one that is not taken.
//
// One table says it all: clients read it (Table) and manifests are held against
// it (Check). What the node learns to do changes a line there and nothing else.
//
// Start reading at the table in pod.go and container.go, then Check.
package capability
