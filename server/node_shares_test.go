package server

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/offer"
)

func TestSharesOfContainersAreShownBesideWhatTheNodeGives(t *testing.T) {
	n := newNode(t)
	client := nodev1.NewNodeServiceClient(n.dial(t))
	want := func(want string) {
		t.Helper()
		got, err := client.ListShares(t.Context(), &nodev1.ListSharesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if text := compact(got); text != want {
			t.Errorf("got  %s\nwant %s", text, want)
		}
	}
	want("")
	n.apply(t, manifestOf("web"))
	n.apply(t, manifestOf("done")+"  restartPolicy: Never\n")
	n.give(t, "done", node.Shares{"main": {CPUs: "4"}})
	n.finish(t, "done")
	n.give(t, "web", node.Shares{
		"main": {CPUs: "2-3,8", Memory: []node.Piece{{Node: 1, Resource: corev1.ResourceMemory, Amount: 1 << 30}}},
		"init": {Start: true, Devices: map[corev1.ResourceName][]string{"example.com/gpu": {"a", "b"}}},
		"none": {Mems: "0"},
	})
	const shares = `shares:{namespace:"default" name:"web" uid:"uid-1" container:"init" devices:{resource:"example.com/gpu" ids:"a" ids:"b"} until_started:true} ` +
		`shares:{namespace:"default" name:"web" uid:"uid-1" container:"main" cpus:"2-3,8" memory:{node:1 resource:"memory" bytes:1073741824}}`
	want(shares)
	n.offers.Post(offer.Offer{Node: admit.Node{Name: "node1"}, Assign: &assign.Rules{
		Topology: assign.Topology{{ID: 0}, {ID: 1}, {ID: 2, Node: 1}}, Static: true, Reserved: cpuset.New(0),
		Memory:  assign.Memory{1: {corev1.ResourceMemory: 5}, 0: {corev1.ResourceMemory: 4, "hugepages-2Mi": 3}},
		Devices: assign.Devices{"example.com/gpu": {{ID: "a", Healthy: true, Nodes: []int{0, 1}}, {ID: "b"}}},
	}})
	want(shares + ` cpus:"1-2" memory:{resource:"hugepages-2Mi" bytes:3} memory:{resource:"memory" bytes:4} memory:{node:1 resource:"memory" bytes:5} ` +
		`devices:{resource:"example.com/gpu" id:"a" healthy:true numa_nodes:0 numa_nodes:1} devices:{resource:"example.com/gpu" id:"b"}`)
}
