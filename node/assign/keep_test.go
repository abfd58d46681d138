package assign

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
)

func TestAPodKeepsWhatAnotherKubeletHasGivenIt(t *testing.T) {
	const gadget = corev1.ResourceName("nodal.test/gadget")
	limits := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi"), gadget: resource.MustParse("1"),
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: limits, Limits: limits}}}}}
	rules := &Rules{
		Topology: Topology{{ID: 0, Core: 0}, {ID: 1, Core: 1}, {ID: 2, Core: 2}, {ID: 3, Core: 3}, {ID: 4, Core: 4}},
		Static:   true, Reserved: cpuset.New(0),
	}
	devices := func(ids ...string) map[corev1.ResourceName][]string {
		return map[corev1.ResourceName][]string{gadget: ids}
	}
	chosen := node.Shares{"main": {CPUs: "1-2", Mems: "0"}}
	if got, ok := rules.Keep(pod, node.Shares{"main": {CPUs: "1-2", Devices: devices("g3")}}, node.Shares{"main": {CPUs: "3-4"}}, nil); ok || got["main"].Devices[gadget] == nil {
		t.Errorf("without a word of its devices the pod has %v, %t", got, ok)
	}
	for name, c := range map[string]struct {
		rules  *Rules
		before node.Share
		others node.Share
		want   node.Share
	}{
		"what it has": {rules, node.Share{CPUs: "3-4", Devices: devices("g2")}, node.Share{CPUs: "1", Devices: devices("g1")},
			node.Share{CPUs: "3-4", Mems: "0", Devices: devices("g2")}},
		"devices alone, where CPUs are not handed out": {nil, node.Share{CPUs: "3-4", Devices: devices("g2")}, node.Share{},
			node.Share{Mems: "0", Devices: devices("g2")}},
		"no CPUs of another pod":            {rules, node.Share{CPUs: "3-4"}, node.Share{CPUs: "4"}, chosen["main"]},
		"no reserved CPUs":                  {rules, node.Share{CPUs: "0,3"}, node.Share{}, chosen["main"]},
		"no CPUs that are not there":        {rules, node.Share{CPUs: "3,9"}, node.Share{}, chosen["main"]},
		"not more CPUs than it asks for":    {rules, node.Share{CPUs: "1-3"}, node.Share{}, chosen["main"]},
		"no device of another pod":          {rules, node.Share{CPUs: "3-4", Devices: devices("g1")}, node.Share{Devices: devices("g1")}, chosen["main"]},
		"not more devices than it asks for": {rules, node.Share{CPUs: "3-4", Devices: devices("g1", "g2")}, node.Share{}, chosen["main"]},
	} {
		got, ok := c.rules.Keep(pod, chosen, node.Shares{"main": c.before}, []node.Shares{{"x": c.others}})
		if kept := !reflect.DeepEqual(c.want, chosen["main"]); ok != kept || !reflect.DeepEqual(got, node.Shares{"main": c.want}) {
			t.Errorf("%s: got %v, %t, want %v", name, got, ok, c.want)
		}
	}
}
