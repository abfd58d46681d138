package topology

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"

	"nodal/node/assign"
)

const (
	cpus  = "devices/system/cpu"
	nodes = "devices/system/node"
)

// Online reads which CPUs are online in the kernel's /sys.
func Online(sys fs.FS) (cpuset.CPUSet, error) { return list(sys, path.Join(cpus, "online")) }

// Read finds which of the online CPUs share a core, a socket, a cache or a NUMA node.
func Read(sys fs.FS) (assign.Topology, error) {
	online, err := Online(sys)
	if err != nil {
		return nil, err
	}
	near, err := nodeOf(sys)
	if err != nil {
		return nil, err
	}
	var machine assign.Topology
	for _, id := range online.List() {
		dir := path.Join(cpus, "cpu"+strconv.Itoa(id))
		siblings, err := list(sys, path.Join(dir, "topology/thread_siblings_list"))
		if err != nil {
			return nil, err
		}
		socket, err := number(sys, path.Join(dir, "topology/physical_package_id"))
		if err != nil {
			return nil, err
		}
		machine = append(machine, assign.CPU{
			// The kernel numbers cores within their sockets; their first CPU is theirs alone.
			ID: id, Core: first(siblings.Intersection(online), id), Socket: max(socket, 0), Node: near[id], Cache: cacheOf(sys, dir, id),
		})
	}
	return machine, nil
}

// nodeOf maps each CPU to its NUMA node. A kernel without any has one node.
func nodeOf(sys fs.FS) (map[int]int, error) {
	near := map[int]int{}
	online, err := list(sys, path.Join(nodes, "online"))
	if err != nil {
		return near, nil
	}
	for _, node := range online.List() {
		has, err := list(sys, path.Join(nodes, "node"+strconv.Itoa(node), "cpulist"))
		if err != nil {
			return nil, err
		}
		for _, id := range has.UnsortedList() {
			near[id] = node
		}
	}
	return near, nil
}

// cacheOf returns the first CPU of the last cache that cores share. A machine that shows none has one cache for all.
func cacheOf(sys fs.FS, cpu string, id int) int {
	shared, err := list(sys, path.Join(cpu, "cache/index3/shared_cpu_list"))
	if err != nil {
		return 0
	}
	return first(shared, id)
}

// Distances returns how far the NUMA nodes are from each other.
func Distances(sys fs.FS) (assign.Distances, error) {
	online, err := list(sys, path.Join(nodes, "online"))
	if errors.Is(err, fs.ErrNotExist) { // there is but one
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, far := online.List(), assign.Distances{}
	for _, from := range ids {
		file := path.Join(nodes, "node"+strconv.Itoa(from), "distance")
		text, err := fs.ReadFile(sys, file)
		if err != nil {
			return nil, fmt.Errorf("read how far NUMA nodes are from each other: %w", err)
		}
		words := strings.Fields(string(text)) // one for each that is online
		if len(words) != len(ids) {
			return nil, fmt.Errorf("read how far NUMA nodes are from each other: %s: %q is not of %d nodes", file, words, len(ids))
		}
		far[from] = map[int]int{}
		for i, to := range ids {
			if far[from][to], err = strconv.Atoi(words[i]); err != nil {
				return nil, fmt.Errorf("read how far NUMA nodes are from each other: %s: %w", file, err)
			}
		}
	}
	return far, nil
}

func first(of cpuset.CPUSet, otherwise int) int {
	if ids := of.List(); len(ids) > 0 {
		return ids[0]
	}
	return otherwise
}

func list(sys fs.FS, file string) (cpuset.CPUSet, error) {
	text, err := fs.ReadFile(sys, file)
	if err != nil {
		return cpuset.CPUSet{}, fmt.Errorf("read how CPUs lie together: %w", err)
	}
	set, err := cpuset.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		return set, fmt.Errorf("read how CPUs lie together: %s: %w", file, err)
	}
	return set, nil
}

func number(sys fs.FS, file string) (int, error) {
	text, err := fs.ReadFile(sys, file)
	if err != nil {
		return 0, fmt.Errorf("read how CPUs lie together: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read how CPUs lie together: %s: %w", file, err)
	}
	return n, nil
}
