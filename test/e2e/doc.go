// Package e2e tests the kubelet from outside. It runs the real binary on a real containerd, with
// the clients that people use (curl and grpcurl), and checks the results in the runtime and in the
// processes.
//
// Each test has its own runtime and node (node_test.go) and talks to it through client_test.go. It
// waits with a watch and never by sleeping (wait_test.go), and reads the true state from the
// runtime (truth_test.go). Package test/readme runs the README's commands.
//
// A test declares what it shows with claim.Shows; docs/CONFORMANCE.md is written from that.
package e2e
