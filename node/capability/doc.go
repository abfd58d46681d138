// Package capability lists which fields of a pod this node honours, which it takes without
// effect and which it refuses. A refused pod is better than one that runs without what it asked
// for.
//
// One table has it all: clients read it (Table) and manifests are checked against it (Check). A
// new ability of the node changes a line there and nothing else.
//
// Start reading at the table in pod.go and container.go, then Check.
package capability
