package topology

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node/assign"
)

// Memory finds how much memory each NUMA node has, and how much of it is huge pages.
func Memory(sys fs.FS) (assign.Memory, error) {
	online, err := list(sys, path.Join(nodes, "online"))
	if err != nil {
		return nil, err
	}
	machine := assign.Memory{}
	for _, id := range online.List() {
		dir := path.Join(nodes, "node"+strconv.Itoa(id))
		total, err := total(sys, path.Join(dir, "meminfo"))
		if err != nil {
			return nil, err
		}
		machine[id] = assign.Amounts{corev1.ResourceMemory: total}
		pages, err := fs.Glob(sys, path.Join(dir, "hugepages/hugepages-*kB"))
		if err != nil {
			return nil, fmt.Errorf("list huge pages: %w", err)
		}
		for _, page := range pages {
			count, err := number(sys, path.Join(page, "nr_hugepages"))
			if err != nil {
				return nil, err
			}
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(path.Base(page), "hugepages-"), "kB"), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("read the size of huge pages: %s: %w", page, err)
			}
			size := resource.NewQuantity(kilobytes<<10, resource.BinarySI)
			bytes := int64(count) * size.Value()
			machine[id][corev1.ResourceName(corev1.ResourceHugePagesPrefix+size.String())] = bytes
			machine[id][corev1.ResourceMemory] -= bytes
		}
	}
	return machine, nil
}

// total reads "Node 0 MemTotal: 1024 kB".
func total(sys fs.FS, file string) (int64, error) {
	text, err := fs.ReadFile(sys, file)
	if err != nil {
		return 0, fmt.Errorf("read how much memory there is: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 5 && words[2] == "MemTotal:" {
			kilobytes, err := strconv.ParseInt(words[3], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read how much memory there is: %s: %w", file, err)
			}
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("read how much memory there is: %s does not say", file)
}
