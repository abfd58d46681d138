// Package claim ties what the project says it does to the tests that show it.
//
// A test says what it shows with [Shows]. docs/CONFORMANCE.md is written from
// these calls (`go test ./test/claim -update`), and a full run of the tests
// fails if a row of it was not shown by a test that passed.
package claim

import "testing"

// Key names the attribute by which a test tells what it shows.
const Key = "shows"

// Shows says what a test shows when it passes: behaviours, a sentence each. They
// have to be written out, so that the table can be made without running anything.
func Shows(t testing.TB, area string, behaviours ...string) {
	t.Helper()
	for _, b := range behaviours {
		t.Attr(Key, Row{Area: area, Behaviour: b}.String())
	}
}

// A Row of the table is one behaviour and the test that shows it.
type Row struct {
	Area, Behaviour string
	Test            string
	File            string // slash-separated, from the root of the repository
}

func (r Row) String() string { return r.Area + ": " + r.Behaviour }

// Areas are the parts of the table in their order.
func Areas() []string {
	return []string{
		"Ways in", "Pod lifecycle", "Containers", "Probes", "Identity and environment", "Security", "Resources",
		"ConfigMaps and Secrets", "Volumes", "Images", "Logs", "Exec", "Status and events", "Stats and metrics", "Deletion",
		"Admission", "Restarts and faults", "In a cluster", "In a fleet", "Access",
	}
}
