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

func TestAPodKeepsTheMemoryThatAnotherKubeletHasGivenIt(t *testing.T) {
	asks := func(name, memory string) corev1.Container {
		return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: amounts("500m", memory), Requests: amounts("500m", memory)}}
	}
	one := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{asks("main", "2Gi")}}}
	large := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{asks("main", "6Gi")}}}
	twice := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{asks("init", "3Gi")}, Containers: []corev1.Container{asks("main", "2Gi")}}}
	rules := &Rules{Topology: machine(1, 2, 2, 1), Memory: nodesOf(4, 4)}
	on := func(mems string, pieces ...node.Piece) node.Share { return node.Share{Mems: mems, Memory: pieces} }
	piece := func(id int, gibis int64) node.Piece {
		return node.Piece{Node: id, Resource: corev1.ResourceMemory, Amount: gibis * gibi}
	}
	chosen := node.Shares{"main": on("0", piece(0, 2))}
	for name, c := range map[string]struct {
		pod    *corev1.Pod
		before node.Shares
		other  node.Share
		want   node.Shares
	}{
		"of its NUMA node":              {one, node.Shares{"main": on("1", piece(1, 2))}, on("1", piece(1, 2)), node.Shares{"main": on("1", piece(1, 2))}},
		"of several":                    {large, node.Shares{"main": on("0-1", piece(0, 4), piece(1, 2))}, node.Share{}, node.Shares{"main": on("0-1", piece(0, 4), piece(1, 2))}},
		"not if another pod has it":     {one, node.Shares{"main": on("1", piece(1, 2))}, on("1", piece(1, 3)), chosen},
		"not if it asks for other":      {one, node.Shares{"main": on("1", piece(1, 3))}, node.Share{}, chosen},
		"not of what is not there":      {one, node.Shares{"main": on("2", piece(2, 2))}, node.Share{}, chosen},
		"not beside another group":      {large, node.Shares{"main": on("0-1", piece(0, 4), piece(1, 2))}, on("1", piece(1, 1)), chosen},
		"without a word, what it chose": {one, node.Shares{"main": {CPUs: "1"}}, node.Share{}, chosen},
		"an init container that has ended has none": {twice, node.Shares{"main": on("1", piece(1, 2))}, node.Share{},
			node.Shares{"main": on("1", piece(1, 2))}},
		"one that runs leaves its own to the application": {twice, node.Shares{"init": on("1", piece(1, 1)), "main": on("1", piece(1, 2))}, node.Share{},
			node.Shares{"init": {Mems: "1", Memory: []node.Piece{piece(1, 3)}, Start: true}, "main": on("1")}},
	} {
		if got, _ := rules.Keep(c.pod, chosen, c.before, []node.Shares{{"x": c.other}}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
