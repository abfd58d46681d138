package assign

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"nodal/node"
)

// demand is the greatest amount that a container or a pod holds at any time.
type demand struct {
	cpus    int
	memory  Amounts
	devices Amounts // their number, by resource
}

func (s *stock) demand(pod *corev1.Pod, c *corev1.Container) demand {
	d := demand{devices: s.devicesOf(c)}
	if s.Static {
		d.cpus = CPUs(pod, c)
	}
	if s.Memory != nil {
		d.memory = MemoryOf(pod, c)
	}
	return d
}

// peak returns the most that a pod holds at any time.
func (s *stock) peak(pod *corev1.Pod) demand {
	start, sidecars, apps := demand{}, demand{}, demand{}
	for c := range node.Containers(&pod.Spec) {
		switch d := s.demand(pod, c); {
		case ForStart(pod, c):
			start = start.or(sidecars.and(d))
		case node.IsSidecar(c):
			sidecars = sidecars.and(d)
		default:
			apps = apps.and(d)
		}
	}
	return start.or(sidecars.and(apps))
}

func (d demand) and(other demand) demand {
	return demand{d.cpus + other.cpus, d.memory.and(other.memory), d.devices.and(other.devices)}
}

func (d demand) or(other demand) demand {
	return demand{max(d.cpus, other.cpus), d.memory.or(other.memory), d.devices.or(other.devices)}
}

// place finds near to which NUMA nodes all of a demand can be had.
func (s *stock) place(d demand) (mask, *node.Refusal) {
	if !s.aligns() {
		return s.all(), nil
	}
	var lists [][]hint
	if d.cpus > 0 {
		lists = append(lists, s.cpuHints(d.cpus))
	}
	if len(d.memory) > 0 {
		lists = append(lists, s.memoryHints(d.memory))
	}
	for _, name := range slices.Sorted(maps.Keys(d.devices)) {
		if list, matters := s.deviceHints(name, d.devices[name]); matters {
			lists = append(lists, list)
		}
	}
	found := s.Align.merge(lists, s.all(), s.apart)
	if !s.Align.admits(found) {
		return 0, refused(node.LackPlace, "TopologyAffinityError", "Resources cannot be allocated with Topology locality")
	}
	return found.nodes, nil
}

// serve assigns one container its share, close to the given NUMA nodes.
func (s *stock) serve(pod *corev1.Pod, c *corev1.Container, near mask) (node.Share, *node.Refusal) {
	var share node.Share
	d := s.demand(pod, c)
	if d.cpus > 0 {
		cpus, refusal := s.takeNear(near, d.cpus)
		if refusal != nil {
			return share, refusal
		}
		s.cpus, s.again = s.cpus.Difference(cpus), s.again.Difference(cpus)
		if ForStart(pod, c) {
			s.again = s.again.Union(cpus)
		}
		share.CPUs = cpus.String()
	}
	if refusal := s.serveDevices(&share, d.devices, near, ForStart(pod, c)); refusal != nil {
		return share, refusal
	}
	if len(d.memory) == 0 {
		return share, nil
	}
	ids, refusal := s.memoryNear(near, d.memory)
	if refusal != nil {
		return share, refusal
	}
	share.Start = ForStart(pod, c)
	share.Mems, share.Memory = cpuset.New(ids...).String(), s.draw(ids, d.memory, share.Start)
	if !share.Start {
		s.groups.add(ids)
	}
	return share, nil
}

// takeNear takes CPUs of NUMA nodes, and of others only if these have too few.
func (s *stock) takeNear(near mask, count int) (cpuset.CPUSet, *node.Refusal) {
	if cpus, refusal := s.take(s.on(near, s.cpus), s.on(near, s.again), count); refusal == nil {
		return cpus, nil
	}
	return s.take(s.cpus, s.again, count)
}

// memoryNear finds NUMA nodes with enough memory: the near ones, or those and others. A
// mask of all nodes counts as no preference.
func (s *stock) memoryNear(near mask, wants Amounts) ([]int, *node.Refusal) {
	best, found := hint{}, false
	for _, h := range s.memoryHints(wants) {
		inside := near == s.all() || h.nodes&near == near
		if inside && (!found || h.better(best, 0, s.apart)) {
			best, found = h, true
		}
	}
	if !found {
		return nil, refused(node.LackMemory, "",
			"[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available")
	}
	return s.nodes(best.nodes), nil
}

// draw takes memory of NUMA nodes, as much as possible of the first. It returns what exceeds
// the memory that init containers have given back.
func (s *stock) draw(ids []int, wants Amounts, forStart bool) []node.Piece {
	var pieces []node.Piece
	for _, name := range slices.Sorted(maps.Keys(wants)) {
		left := wants[name]
		for _, id := range ids {
			again := min(left, s.spare[id][name])
			s.spare[id][name] -= again
			more := min(left-again, s.memory[id][name])
			if more > 0 {
				s.memory[id][name] -= more
				pieces = append(pieces, node.Piece{Node: id, Resource: name, Amount: more})
			}
			if forStart {
				s.spare[id][name] += again + more
			}
			left -= again + more
		}
	}
	return pieces
}

// free returns all the memory that the pod may draw from.
func (s *stock) free() Memory {
	free := s.memory.clone()
	for id, amounts := range s.spare {
		for name, amount := range amounts {
			if free[id] != nil {
				free[id][name] += amount
			}
		}
	}
	return free
}
