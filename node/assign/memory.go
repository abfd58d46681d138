package assign

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resources "k8s.io/component-helpers/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/limit"
)

// Amounts holds bytes of memory and of each size of huge pages, or numbers of devices.
type Amounts map[corev1.ResourceName]int64

func (a Amounts) and(other Amounts) Amounts {
	sum := Amounts{}
	for _, amounts := range []Amounts{a, other} {
		for name, amount := range amounts {
			sum[name] += amount
		}
	}
	return sum
}

func (a Amounts) or(other Amounts) Amounts {
	most := Amounts{}
	for _, amounts := range []Amounts{a, other} {
		for name, amount := range amounts {
			most[name] = max(most[name], amount)
		}
	}
	return most
}

// SumOf returns how much pieces are together.
func SumOf(pieces []node.Piece) Amounts {
	sum := Amounts{}
	for _, p := range pieces {
		sum[p.Resource] += p.Amount
	}
	return sum
}

// Memory holds what pods may use of each NUMA node, by its number.
type Memory map[int]Amounts

// Pieces returns the memory of each NUMA node, in order.
func (m Memory) Pieces() (all []node.Piece) {
	for _, id := range slices.Sorted(maps.Keys(m)) {
		for _, resource := range slices.Sorted(maps.Keys(m[id])) {
			all = append(all, node.Piece{Node: id, Resource: resource, Amount: m[id][resource]})
		}
	}
	return all
}

// Keep sets aside what pods do not get of each NUMA node. Of memory that has to be as
// much as pods do not get of the machine, or some would be promised twice.
func (m Memory) Keep(kept Memory, ofMachine int64) error {
	sum := int64(0)
	for id, amounts := range kept {
		sum += amounts[corev1.ResourceMemory]
		for name, amount := range amounts {
			if amount > m[id][name] {
				return fmt.Errorf("reservedMemory: %d bytes of %s are more than the %d that NUMA node %d has", amount, name, m[id][name], id)
			}
			m[id][name] -= amount
		}
	}
	if sum != ofMachine {
		return fmt.Errorf("reservedMemory: %d bytes of memory are reserved of NUMA nodes, and kubeReserved, systemReserved and evictionHard reserve %d: "+
			"both have to be equal", sum, ofMachine)
	}
	return nil
}

// clone may be written.
func (m Memory) clone() Memory {
	made := Memory{}
	for id, has := range m {
		made[id] = maps.Clone(has)
	}
	return made
}

// MemoryOf returns what a container gets of chosen NUMA nodes: its whole request, in a pod
// of class Guaranteed.
func MemoryOf(pod *corev1.Pod, c *corev1.Container) Amounts {
	wants := Amounts{}
	if limit.Class(pod) != corev1.PodQOSGuaranteed || resources.IsPodLevelResourcesSet(pod) {
		return wants
	}
	for name, quantity := range c.Resources.Limits {
		huge := node.IsHugePages(name)
		if (name == corev1.ResourceMemory || huge) && !quantity.IsZero() {
			wants[name] = quantity.Value()
		}
	}
	return wants
}

// room reports whether some NUMA nodes together have enough of all resources.
func (m Memory) room(ids []int, wants Amounts) bool {
	for name, amount := range wants {
		for _, id := range ids {
			amount -= m[id][name]
		}
		if amount > 0 {
			return false
		}
	}
	return true
}

// groups maps each NUMA node to the nodes together with which its memory was handed out.
// They stay together: the rest of a single one could not be computed.
type groups map[int]string

// open reports whether memory of a set of NUMA nodes can be handed out.
func (g groups) open(ids []int) bool {
	name := cpuset.New(ids...).String()
	return !slices.ContainsFunc(ids, func(id int) bool { return g[id] != "" && g[id] != name })
}

func (g groups) add(ids []int) {
	for _, id := range ids {
		g[id] = cpuset.New(ids...).String()
	}
}
