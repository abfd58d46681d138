package member

import (
	"strings"
	"testing"
)

func TestLabelsThatNoNodeMayGiveItself(t *testing.T) {
	for label, want := range map[string]string{
		"disk=ssd":                                "",
		"example.com/rack=7":                      "",
		"kubernetes.io=7":                         "",
		"topology.kubernetes.io/zone=a":           "",
		"node.kubernetes.io/exclude-disruption=1": "",
		"x.node.kubernetes.io/own=1":              "",
		"node-role.kubernetes.io/worker=":         "a node may not set it",
		"node-restriction.kubernetes.io/team=a":   "a node may not set it",
		"k8s.io/x=1":                              "a node may not set it",
		"a.k8s.io/x=1":                            "a node may not set it",
		"disk=two words":                          "disk=two words",
		"two words=1":                             "two words=1",
	} {
		key, value, _ := strings.Cut(label, "=")
		got := ""
		if err := CheckLabels(map[string]string{key: value}); err != nil {
			got = err.Error()
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", label, got, want)
		}
	}
}
