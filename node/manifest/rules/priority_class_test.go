package rules_test

import (
	"strings"
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"

	"nodal/node"
	"nodal/node/manifest"
)

const priorityClass = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: NAME}\nvalue: VALUE\n"

func classText(name, value, more string) []byte {
	return []byte(strings.NewReplacer("NAME", name, "VALUE", value).Replace(priorityClass) + more)
}

func TestPriorityClassPreemptsUnlessItSaysNot(t *testing.T) {
	docs, err := manifest.Decode(classText("high", "1000000000", ""), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := node.As[*schedulingv1.PriorityClass](docs[0].Object); got.Value != 1_000_000_000 || *got.PreemptionPolicy != "PreemptLowerPriority" {
		t.Errorf("got %+v, want Kubernetes' default policy", got)
	}
}

func TestPriorityClassesFollowKubernetesRules(t *testing.T) {
	for _, c := range []struct{ name, called, value, more, field string }{
		{"a value of the system", "high", "1000000001", "", "value"},
		{"a class of the system", "system-node-critical", "2000001000", "", "metadata.name"},
		{"a name like the system's", "system-mine", "1", "", "metadata.name"},
		{"a policy that is none", "high", "1", "preemptionPolicy: Sometimes\n", "preemptionPolicy"},
		{"no name", "''", "1", "", "metadata.name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := manifest.Decode(classText(c.called, c.value, c.more), manifest.Options{})
			if err == nil || !strings.Contains(err.Error(), c.field+": ") {
				t.Errorf("got %v, want a violation at %s", err, c.field)
			}
		})
	}
}
