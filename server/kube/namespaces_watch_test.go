package kube

import (
	"fmt"
	"strings"
	"testing"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

func TestANamespaceComesWithItsFirstThingAndGoesWithItsLast(t *testing.T) {
	const added, modified, deleted = nodev1.WatchType_WATCH_TYPE_ADDED, nodev1.WatchType_WATCH_TYPE_MODIFIED, nodev1.WatchType_WATCH_TYPE_DELETED
	words := map[nodev1.WatchType]string{added: "+", deleted: "-"}
	pod := func(namespace, name string) node.ObjectRef {
		return node.ObjectRef{Kind: "Pod", Namespace: namespace, Name: name}
	}
	for _, c := range []struct {
		name  string
		steps []thing
		want  string
	}{
		{"one thing", []thing{{kind: added, ref: pod("a", "x")}, {kind: deleted, ref: pod("a", "x")}}, "+a -a"},
		{"two things", []thing{{kind: added, ref: pod("a", "x")}, {kind: added, ref: pod("a", "y")}, {kind: deleted, ref: pod("a", "x")}}, "+a"},
		{"of one name", []thing{
			{kind: added, ref: pod("a", "x")}, {kind: added, ref: node.ObjectRef{Kind: "ConfigMap", Namespace: "a", Name: "x"}}, {kind: deleted, ref: pod("a", "x")},
		}, "+a"},
		{"a change", []thing{{kind: added, ref: pod("a", "x")}, {kind: modified, ref: pod("a", "x")}, {kind: deleted, ref: pod("a", "x")}}, "+a -a"},
		{"a change that was not seen to begin", []thing{{kind: modified, ref: pod("a", "x")}}, "+a"},
		{"an end that was not seen to begin", []thing{{kind: deleted, ref: pod("a", "x")}}, ""},
		{"and again", []thing{{kind: added, ref: pod("a", "x")}, {kind: deleted, ref: pod("a", "x")}, {kind: added, ref: pod("a", "x")}}, "+a -a +a"},
		{"what has no namespace", []thing{{kind: added, ref: pod("", "x")}}, ""},
	} {
		var got []string
		all := contents{}
		for _, step := range c.steps {
			if kind, name := all.take(step); kind != nodev1.WatchType_WATCH_TYPE_UNSPECIFIED {
				got = append(got, fmt.Sprint(words[kind], name))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}
