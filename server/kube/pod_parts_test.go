package kube

import (
	"encoding/json"
	"strings"
	"testing"
)

func parsed(t *testing.T, text string) *object {
	t.Helper()
	o := &object{}
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAPartOfAPodIsAllThatChanges(t *testing.T) {
	const pod = `{"metadata":{"name":"web"},"spec":{"containers":[{"image":"a:1","name":"a","resources":{"limits":{"cpu":"1"}}}]}}`
	for _, c := range []struct {
		name        string
		part        partOf
		after       string
		want, fault string
	}{
		{"resources", resourcesOf, `{"metadata":{"name":"web","labels":{"x":"y"}},"spec":{"containers":[{"image":"b:9","name":"a","resources":{"limits":{"cpu":"2"}}}]}}`,
			`{"metadata":{"name":"web"},"spec":{"containers":[{"image":"a:1","name":"a","resources":{"limits":{"cpu":"2"}}}]}}`, ""},
		{"of the pod", resourcesOf, `{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1"}}}],"resources":{"limits":{"cpu":"3"}}}}`,
			`{"metadata":{"name":"web"},"spec":{"containers":[{"image":"a:1","name":"a","resources":{"limits":{"cpu":"1"}}}],"resources":{"limits":{"cpu":"3"}}}}`, ""},
		{"none any more, and a policy", resourcesOf, `{"spec":{"containers":[{"name":"a","resizePolicy":[]}]}}`,
			`{"metadata":{"name":"web"},"spec":{"containers":[{"image":"a:1","name":"a","resizePolicy":[]}]}}`, ""},
		{"another container", resourcesOf, `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`, "", "may not be added or removed"},
		{"another name", resourcesOf, `{"spec":{"containers":[{"name":"b"}]}}`, "", "spec.containers[0].name"},
		{"no pod", resourcesOf, `{"spec":7}`, "", "may not be added or removed"},
		{"a container to debug", ephemeralContainersOf, `{"spec":{"containers":[],"ephemeralContainers":[{"name":"d"}]}}`,
			`{"metadata":{"name":"web"},"spec":{"containers":[{"image":"a:1","name":"a","resources":{"limits":{"cpu":"1"}}}],"ephemeralContainers":[{"name":"d"}]}}`, ""},
	} {
		before := parsed(t, pod)
		got, err := c.part(before, parsed(t, c.after))
		if text, _ := json.Marshal(before.Object); string(text) != pod {
			t.Errorf("%s: the pod as it was is now %s", c.name, text)
		}
		if c.fault != "" || err != nil {
			if err == nil || c.fault == "" || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: got %v, want %q", c.name, err, c.fault)
			}
			continue
		}
		if text, _ := json.Marshal(got.Object); string(text) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
	}
}
