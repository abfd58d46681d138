package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// hugePages are those of one size that the machine has set aside.
type hugePages struct {
	size   int64 // bytes of one
	number int64
}

// lookAtHugePages finds what sizes the kernel knows, the smallest first. What is set
// aside later counts from the next start on.
func lookAtHugePages(dir string) []hugePages {
	pools, err := filepath.Glob(filepath.Join(dir, "hugepages-*kB"))
	if err != nil {
		return nil
	}
	var found []hugePages
	for _, pool := range pools {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(pool), "hugepages-"), "kB")
		size, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(pool, "nr_hugepages"))
		if err != nil {
			continue
		}
		number, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			continue
		}
		found = append(found, hugePages{size << 10, number})
	}
	slices.SortFunc(found, func(a, b hugePages) int { return cmp.Compare(a.size, b.size) })
	return found
}

// resource is their name and amount in Kubernetes' words: hugepages-2Mi.
func (h hugePages) resource() (corev1.ResourceName, resource.Quantity) {
	size := resource.NewQuantity(h.size, resource.BinarySI)
	return corev1.ResourceName(corev1.ResourceHugePagesPrefix + size.String()), *resource.NewQuantity(h.size*h.number, resource.BinarySI)
}

// inKernel is their size as the kernel's cgroups have it: 2MB, 1GB.
func (h hugePages) inKernel() string {
	return strings.TrimSuffix(resource.NewQuantity(h.size, resource.BinarySI).String(), "i") + "B"
}

// hugePageSizes are those of the machine as the kernel's cgroups have them.
func (m machine) hugePageSizes() []string {
	var sizes []string
	for _, pages := range m.hugePages {
		sizes = append(sizes, pages.inKernel())
	}
	return sizes
}
