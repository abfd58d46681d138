package oracle

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEveryCaseIsAManifestOfItsOwn(t *testing.T) {
	cases, err := Read("testdata/corpus")
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 800 {
		t.Errorf("the corpus has %d cases, want all of them", len(cases))
	}
	seen := map[string]string{}
	for _, c := range cases {
		text, err := json.Marshal(c.Object)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if first, twice := seen[string(text)]; twice {
			t.Errorf("%q is the manifest of %q", c.Name, first)
		}
		seen[string(text)] = c.Name
		if path(c) == "" || strings.Contains(string(text), "${") {
			t.Errorf("%q is not a whole manifest: %.200s", c.Name, text)
		}
	}
}

func TestPatchesAreLaidOverThePod(t *testing.T) {
	for _, c := range []struct{ word, patch, want string }{
		{"meta", `{"name":null,"labels":{"a":"b"}}`, `"metadata":{"labels":{"a":"b"}}`},
		{"app", `{"tty":true}`, `"containers":[{"image":"a:1","name":"app","tty":true}]`},
		{"init", `{"image":"b"}`, `"initContainers":[{"image":"b","name":"init"}]`},
		{"mount", `{"mountPath":null}`, `"volumeMounts":[{"name":"v"}]`},
		{"near", `{"topologyKey":"a"}`, `"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a"}]}`},
		{"spec", `{"containers":[]}`, `"spec":{"containers":[]}`},
	} {
		object, err := subject{Kind: "Pod"}.base()
		if err != nil {
			t.Fatal(err)
		}
		var patch any
		if err := json.Unmarshal([]byte(c.patch), &patch); err != nil {
			t.Fatal(err)
		}
		if err := patchPod(object, c.word, patch); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(object)
		if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s %s makes %s (%v), want %s in it", c.word, c.patch, got, err, c.want)
		}
	}
	if err := patchPod(map[string]any{}, "metta", nil); err == nil {
		t.Error("an unknown word is accepted")
	}
}

func TestJudgesAgreeByVerdictAndFields(t *testing.T) {
	taken := Verdict{Taken: true}
	for _, c := range []struct {
		apiserver, node Verdict
		want            string
	}{
		{taken, taken, ""},
		{refused([]string{"b", "a", "a"}, "x"), refused([]string{"a", "b"}, "y"), ""},
		{refused(nil, "x"), refused(nil, "y"), ""},
		{taken, refused([]string{"a"}, ""), "Kubernetes takes it; the node refuses a"},
		{refused([]string{"a", "b"}, ""), refused([]string{"a"}, ""), "Kubernetes refuses a, b; the node refuses a"},
	} {
		if got := Difference(c.apiserver, c.node); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestAnswersThatAreNoVerdictAreErrors(t *testing.T) {
	for _, code := range []int{403, 404, 500} {
		if v, err := statusVerdict(code, []byte(`{"message":"x"}`)); err == nil {
			t.Errorf("%d counts as %q", code, v)
		}
	}
}
