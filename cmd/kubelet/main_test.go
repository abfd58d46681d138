package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestTheSecondNameStartsNoAgent(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{[]string{"/usr/local/bin/kubelet"}, nil},
		{[]string{"kubelet", "--v", "4"}, []string{"--v", "4"}},
		{[]string{"/usr/local/bin/nodal"}, []string{"help"}},
		{[]string{"nodal", "get", "pods"}, []string{"get", "pods"}},
	} {
		if got := wordsOf(c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.args, got, c.want)
		}
	}
	var out, failed bytes.Buffer
	if code := run(wordsOf([]string{"nodal"}), &out, &failed); code != 0 || !strings.Contains(out.String(), "Verbs:\n  get ") {
		t.Errorf("got %d, %q, want the verbs\n%s", code, &failed, &out)
	}
}
