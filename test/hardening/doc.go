// Package hardening holds docs/HARDENING.md to the program: how a node that `kubelet install` has made stands to the
// worker part of the CIS Kubernetes Benchmark, and why its unit has none of systemd's sandboxes.
//
// It also holds the threats of docs/SECURITY.md to the tests that they name (threats_test.go).
//
// The tables of the page are written from the tables here: go test ./test/hardening -update.
//
// Start reading at items in cis_test.go.
package hardening
