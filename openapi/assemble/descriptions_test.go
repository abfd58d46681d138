package main

import (
	"strings"
	"testing"
)

func TestFieldsOfManifestsSayWhatTheyAreFor(t *testing.T) {
	schemas := at(assembled(t), "components", "schemas")
	for _, c := range []struct{ of, field, want string }{
		{"io.k8s.api.core.v1.ConfigMap", "data", "Data contains the configuration data."},
		{"io.k8s.api.core.v1.Pod", "spec", "Specification of the desired behavior of the pod."},
		{"io.k8s.api.core.v1.Volume", "emptyDir", "emptyDir represents a temporary directory that shares a pod's lifetime."},
	} {
		if got := at(schemas, c.of, "properties", c.field)["description"]; got != c.want {
			t.Errorf("%s of %s: got %q, want %q", c.field, c.of, got, c.want)
		}
	}
}

func TestOfADescriptionTheFirstSentenceIsKept(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"One sentence", "One sentence"},
		{"First one. Second one.", "First one."},
		{"A value, e.g. 5. More.", "A value, e.g. 5."},
		{"Over\nlines. More: https://example.com", "Over lines."},
	} {
		if got := firstSentence(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
	if got := firstSentence(long); len(got) > mostWords+len("…") || !strings.HasSuffix(got, "word…") {
		t.Errorf("a long one: got %q", got)
	}
}

func TestEveryFieldOfAManifestHasAName(t *testing.T) {
	for name, schema := range at(assembled(t), "components", "schemas") {
		if _, ok := at(schema.(object), "properties")[""]; ok {
			t.Errorf("%s has a field without a name: its JSON differs from its Go form, which asWritten has to know", name)
		}
	}
}
