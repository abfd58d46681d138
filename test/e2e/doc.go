// Package e2e tests the kubelet from outside: the real binary on a real
// containerd, through the clients that people use (curl and grpcurl) and as the
// runtime and the processes show what became of it.
//
// Each test has a runtime and a node of its own (node_test.go), talks through
// client_test.go, waits with a watch and never by sleeping (wait_test.go), and
// asks the runtime for the truth (truth_test.go). The README's commands are run
// by readme_test.go.
//
// A test says what it shows with claim.Shows; docs/CONFORMANCE.md is written from that.
package e2e
