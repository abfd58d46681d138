package server

import (
	"context"
	"maps"
	"slices"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// ListShares shows what belongs to single containers, and what the node gives away.
func (s *nodeService) ListShares(context.Context, *nodev1.ListSharesRequest) (*nodev1.ListSharesResponse, error) {
	answer := &nodev1.ListSharesResponse{}
	views, _ := s.store.Views()
	for _, v := range views {
		for _, pod := range v.Slot.Holders() {
			answer.Shares = append(answer.Shares, sharesOf(pod)...)
		}
	}
	rules := s.offers.Read().Assign
	if rules == nil {
		return answer, nil
	}
	if rules.Static {
		answer.Cpus = rules.Topology.All().Difference(rules.Reserved).String()
	}
	answer.Memory = memoryIn(rules.Memory.Pieces())
	for _, name := range slices.Sorted(maps.Keys(rules.Devices)) {
		for _, d := range rules.Devices[name] {
			answer.Devices = append(answer.Devices, &nodev1.OfferedDevice{
				Resource: string(name), Id: d.ID, Healthy: d.Healthy, NumaNodes: unsigned(d.Nodes),
			})
		}
	}
	return answer, nil
}

func sharesOf(pod *node.Pod) (all []*nodev1.Share) {
	for _, name := range slices.Sorted(maps.Keys(pod.Shares)) {
		share := pod.Shares[name]
		shown := &nodev1.Share{
			Namespace: pod.Object.Namespace, Name: pod.Object.Name, Uid: string(pod.UID()), Container: name,
			Cpus: share.CPUs, Memory: memoryIn(share.Memory), UntilStarted: share.Start,
		}
		for _, resource := range slices.Sorted(maps.Keys(share.Devices)) {
			shown.Devices = append(shown.Devices, &nodev1.ShareDevices{Resource: string(resource), Ids: share.Devices[resource]})
		}
		if shown.Cpus != "" || len(shown.Memory)+len(shown.Devices) > 0 {
			all = append(all, shown)
		}
	}
	return all
}

func memoryIn(pieces []node.Piece) (all []*nodev1.NUMAMemory) {
	for _, p := range pieces {
		all = append(all, &nodev1.NUMAMemory{Node: uint32(p.Node), Resource: string(p.Resource), Bytes: p.Amount})
	}
	return all
}

func unsigned(numbers []int) (all []uint32) {
	for _, n := range numbers {
		all = append(all, uint32(n))
	}
	return all
}
