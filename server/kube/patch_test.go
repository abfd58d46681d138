package kube

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPatches(t *testing.T) {
	const pod = `{"kind":"Pod","spec":{"containers":[{"image":"a:1","name":"a"},{"image":"b:1","name":"b"}]}}`
	for _, c := range []struct {
		name, kind, patch, want, fault string
	}{
		{"steps", jsonPatch, `[{"op":"replace","path":"/spec/containers/1/image","value":"b:2"}]`,
			`{"kind":"Pod","spec":{"containers":[{"image":"a:1","name":"a"},{"image":"b:2","name":"b"}]}}`, ""},
		{"a merge replaces lists", mergePatch, `{"spec":{"containers":[{"name":"b"}]}}`,
			`{"kind":"Pod","spec":{"containers":[{"name":"b"}]}}`, ""},
		{"a strategic merge knows the names in lists", strategicPatch, `{"spec":{"containers":[{"name":"b","image":"b:2"}]}}`,
			`{"kind":"Pod","spec":{"containers":[{"image":"a:1","name":"a"},{"image":"b:2","name":"b"}]}}`, ""},
		{"a test that does not hold", jsonPatch, `[{"op":"test","path":"/kind","value":"Node"}]`, "", "/kind"},
		{"copies of copies", jsonPatch, "[" + strings.Repeat(`{"op":"copy","from":"/spec/containers","path":"/spec/containers/-"},`, 40) + `{"op":"remove","path":"/spec"}]`, "", "bytes"},
		{"too many copies", jsonPatch, "[" + strings.Repeat(`{"op":"copy","from":"/kind","path":"/a"},`, 101) + `{"op":"copy","from":"/kind","path":"/b"}]`, "", "more than 100 times"},
		{"a copy", jsonPatch, `[{"op":"copy","from":"/kind","path":"/a"},{"op":"remove","path":"/spec"}]`, `{"a":"Pod","kind":"Pod"}`, ""},
		{"a test that says of nothing what it is", jsonPatch, `[{"op":"test","path":""}]`, "", "not complete"},
		{"no JSON", mergePatch, `{`, "", "apply the patch"},
		{"not an object any more", mergePatch, `7`, "", "apply the patch"},
	} {
		before := &object{}
		if err := json.Unmarshal([]byte(pod), &before.Object); err != nil {
			t.Fatal(err)
		}
		after, err := patch{c.kind, []byte(c.patch)}.put(before, new(corev1.Pod))
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: got %v, want an error with %q", c.name, err, c.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if text, _ := json.Marshal(after.Object); string(text) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
	}
}
