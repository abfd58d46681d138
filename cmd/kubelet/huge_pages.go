package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node/admit"
)

const hugePagesDir = "/sys/kernel/mm/hugepages"

// lookAtHugePages finds what sizes the kernel knows, the smallest first.
func lookAtHugePages(dir string) []admit.HugePages {
	pools, err := filepath.Glob(filepath.Join(dir, "hugepages-*kB"))
	if err != nil {
		return nil
	}
	var found []admit.HugePages
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
		found = append(found, admit.HugePages{Size: size << 10, Number: number})
	}
	slices.SortFunc(found, func(a, b admit.HugePages) int { return cmp.Compare(a.Size, b.Size) })
	return found
}

// inKernel returns the size of huge pages as the kernel's cgroups have it, such as 2MB or 1GB.
func inKernel(pages admit.HugePages) string {
	return strings.TrimSuffix(resource.NewQuantity(pages.Size, resource.BinarySI).String(), "i") + "B"
}
