package fleet

import (
	"strings"
	"testing"
)

func TestHowANodeIs(t *testing.T) {
	for _, c := range []struct {
		name    string
		present bool
		record  Record
		want    Standing
	}{
		{"all is as etcd says", true, Record{Given: 3, Applied: 3, Wanted: 2, Ready: 1, Done: 1}, Well},
		{"it has not applied all", true, Record{Given: 3, Applied: 2}, Busy},
		{"a pod is not ready yet", true, Record{Wanted: 2, Ready: 1}, Busy},
		{"a pod has failed", true, Record{Given: 3, Applied: 2, Failing: 1}, Failing},
		{"the node itself is not well", true, Record{Fault: "DiskPressure"}, Failing},
		{"it has not been heard of", false, Record{Failing: 1}, Silent},
	} {
		if got := judge(c.present, c.record); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestARecordOfAnotherHandIsAFault(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{", "cannot be read"},
		{`{"given": "many"}`, "cannot be read"},
		{strings.Repeat(" ", maxRecord+1), "more than a node writes"},
		{`{"fault": "a\nb` + strings.Repeat("x", 2*maxFault) + `"}`, "a bx"},
	} {
		if got := readRecord(c.text).Fault; !strings.Contains(got, c.want) || len(got) > maxFault {
			t.Errorf("%.20q: got %q, want %q", c.text, got, c.want)
		}
	}
}
