// Package differences reads docs/DIFFERENCES.md, the only list of what differs between upstream's kubelet and this one, for
// the tests that compare the two.
//
// The tests here compare the events of both from their sources. flow_test.go finds the reasons that our code can send, and
// the command upstream those that upstream's does. In test/cluster both kubelets run, and the rest is compared.
//
// Start reading at Read in read.go.
package differences
