package server

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/status"
	"nodal/node/store"
)

// upstreamResources serves upstream's API of what belongs to single containers of the node: exclusive CPUs, memory of
// chosen NUMA nodes, devices, and claims.
type upstreamResources struct {
	podresourcesv1.UnimplementedPodResourcesListerServer
	store  *store.Store
	offers Offers
	site   node.Site
}

var _ podresourcesv1.PodResourcesListerServer = (*upstreamResources)(nil)

// List returns what the pods hold that have not ended.
func (s *upstreamResources) List(
	context.Context, *podresourcesv1.ListPodResourcesRequest,
) (*podresourcesv1.ListPodResourcesResponse, error) {
	views, _ := s.store.Views()
	answer, places := &podresourcesv1.ListPodResourcesResponse{}, s.places()
	for _, v := range views {
		if !s.ended(v) {
			pod, err := resourcesOf(v.Slot.Pod, places)
			if err != nil {
				return nil, err
			}
			answer.PodResources = append(answer.PodResources, pod)
		}
	}
	return answer, nil
}

// Get returns what one pod holds.
func (s *upstreamResources) Get(
	_ context.Context, r *podresourcesv1.GetPodResourcesRequest,
) (*podresourcesv1.GetPodResourcesResponse, error) {
	key := node.Key{Namespace: r.GetPodNamespace(), Name: r.GetPodName()}
	v, ok := s.store.View(key)
	if !ok || s.ended(v) {
		return nil, fmt.Errorf("pod %s: %w", key, node.ErrNotFound)
	}
	pod, err := resourcesOf(v.Slot.Pod, s.places())
	return &podresourcesv1.GetPodResourcesResponse{PodResources: pod}, err
}

// GetAllocatableResources returns what containers may get for themselves alone. Nothing where the node hands out
// neither CPUs nor memory nor devices.
func (s *upstreamResources) GetAllocatableResources(
	context.Context, *podresourcesv1.AllocatableResourcesRequest,
) (*podresourcesv1.AllocatableResourcesResponse, error) {
	answer := &podresourcesv1.AllocatableResourcesResponse{}
	rules := s.offers.Read().Assign
	if rules == nil {
		return answer, nil
	}
	if rules.Static {
		answer.CpuIds = numbers(rules.Topology.All().Difference(rules.Reserved))
	}
	answer.Memory = memoryOf(rules.Memory.Pieces())
	for _, name := range slices.Sorted(maps.Keys(rules.Devices)) {
		for _, d := range rules.Devices[name] {
			if d.Healthy {
				answer.Devices = append(answer.Devices, deviceOn(name, d.ID, d.Nodes)...)
			}
		}
	}
	return answer, nil
}

// places maps each device to its NUMA nodes, by resource and ID, as its plugin says now.
func (s *upstreamResources) places() map[corev1.ResourceName]map[string][]int {
	rules := s.offers.Read().Assign
	if rules == nil || len(rules.Devices) == 0 {
		return nil
	}
	places := map[corev1.ResourceName]map[string][]int{}
	for name, devices := range rules.Devices {
		places[name] = map[string][]int{}
		for _, d := range devices {
			places[name][d.ID] = d.Nodes
		}
	}
	return places
}

// deviceOn describes a device as upstream does: once for each NUMA node that it is near to.
func deviceOn(resource corev1.ResourceName, id string, nodes []int) (all []*podresourcesv1.ContainerDevices) {
	if len(nodes) == 0 {
		return []*podresourcesv1.ContainerDevices{{ResourceName: string(resource), DeviceIds: []string{id}}}
	}
	for _, numa := range nodes {
		all = append(all, &podresourcesv1.ContainerDevices{
			ResourceName: string(resource), DeviceIds: []string{id},
			Topology: &podresourcesv1.TopologyInfo{Nodes: []*podresourcesv1.NUMANode{{ID: int64(numa)}}},
		})
	}
	return all
}

func (s *upstreamResources) ended(v store.View) bool {
	phase := status.Of(s.site, v.Slot, v.Got).Phase
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// claimedBy returns the claims that a container names, with the devices that drivers have prepared for them.
func claimedBy(pod *node.Pod, container string) (all []*podresourcesv1.DynamicResource) {
	names := map[string]bool{}
	for c := range node.Containers(&pod.Object.Spec) {
		for _, claim := range c.Resources.Claims {
			names[claim.Name] = names[claim.Name] || c.Name == container
		}
	}
	for i := range pod.Claims {
		claim := &pod.Claims[i]
		if !names[claim.Name] {
			continue
		}
		made := &podresourcesv1.DynamicResource{ClaimName: claim.Claim, ClaimNamespace: pod.Object.Namespace}
		for _, driver := range slices.Sorted(maps.Keys(claim.Drivers)) {
			for _, d := range claim.Drivers[driver].Devices {
				one := &podresourcesv1.ClaimResource{DriverName: driver, PoolName: d.Pool, DeviceName: d.Device}
				for _, name := range d.CDI {
					one.CdiDevices = append(one.CdiDevices, &podresourcesv1.CDIDevice{Name: name})
				}
				if d.ShareID != "" {
					one.ShareId = new(string(d.ShareID))
				}
				made.ClaimResources = append(made.ClaimResources, one)
			}
		}
		all = append(all, made)
	}
	return all
}

// resourcesOf returns what a pod's record says that its containers hold. Of the init containers it names those that run
// as long as the pod.
func resourcesOf(pod *node.Pod, places map[corev1.ResourceName]map[string][]int) (*podresourcesv1.PodResources, error) {
	spec := &pod.Object.Spec
	made := &podresourcesv1.PodResources{Name: pod.Object.Name, Namespace: pod.Object.Namespace}
	for i := range spec.InitContainers {
		if node.IsSidecar(&spec.InitContainers[i]) {
			made.Containers = append(made.Containers, &podresourcesv1.ContainerResources{Name: spec.InitContainers[i].Name})
		}
	}
	for i := range spec.Containers {
		made.Containers = append(made.Containers, &podresourcesv1.ContainerResources{Name: spec.Containers[i].Name})
	}
	for _, c := range made.Containers {
		share := pod.Shares[c.Name]
		cpus, err := cpuset.Parse(share.CPUs)
		if err != nil {
			return nil, fmt.Errorf("read the CPUs of container %s of pod %s/%s: %w", c.Name, made.Namespace, made.Name, err)
		}
		c.CpuIds, c.DynamicResources = numbers(cpus), claimedBy(pod, c.Name)
		c.Memory = memoryOf(share.Memory)
		for _, name := range slices.Sorted(maps.Keys(share.Devices)) {
			for _, id := range share.Devices[name] {
				c.Devices = append(c.Devices, deviceOn(name, id, places[name][id])...)
			}
		}
	}
	return made, nil
}

func memoryOf(pieces []node.Piece) (all []*podresourcesv1.ContainerMemory) {
	for _, p := range pieces {
		all = append(all, &podresourcesv1.ContainerMemory{
			MemoryType: string(p.Resource), Size: uint64(p.Amount),
			Topology: &podresourcesv1.TopologyInfo{Nodes: []*podresourcesv1.NUMANode{{ID: int64(p.Node)}}},
		})
	}
	return all
}

func numbers(cpus cpuset.CPUSet) (ids []int64) {
	for _, id := range cpus.List() {
		ids = append(ids, int64(id))
	}
	return ids
}
