// Package claim connects the claims of the project with the tests that show them.
//
// A test declares what it shows with [Shows]. docs/CONFORMANCE.md is written from these calls (`go
// test ./test/claim -update`), and a full run of the tests fails if no passed test has shown one of
// its rows.
package claim

import "testing"

// Key names the attribute in which a test reports its claims.
const Key = "shows"

// Shows declares the behaviours that a test proves when it passes, a sentence each. They have to be
// literals, so that the table can be made without running anything.
func Shows(t testing.TB, area string, behaviours ...string) {
	t.Helper()
	for _, b := range behaviours {
		t.Attr(Key, Row{Area: area, Behaviour: b}.String())
	}
}

// A Row of the table holds one behaviour and the test that shows it.
type Row struct {
	Area, Behaviour string
	Test            string
	File            string // slash-separated, from the root of the repository
}

func (r Row) String() string { return r.Area + ": " + r.Behaviour }

// Areas returns the parts of the table in order.
func Areas() []string {
	return []string{
		"Ways in", "Pod lifecycle", "Containers", "Probes", "Identity and environment", "Security", "Resources",
		"ConfigMaps and Secrets", "Volumes", "Images", "Logs", "Exec", "Status and events", "Stats and metrics", "Deletion",
		"Admission", "Plugins", "CSI", "Devices", "Restarts and faults", "Kubernetes API", "In a cluster", "In a fleet", "Access",
	}
}
