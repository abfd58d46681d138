package machine

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node/admit"
)

// hugePages returns the sizes that the kernel knows and how many pages are set aside, the smallest size first.
func hugePages(root fs.FS) []admit.HugePages {
	pools, err := fs.Glob(root, "sys/kernel/mm/hugepages/hugepages-*kB")
	if err != nil {
		return nil
	}
	var found []admit.HugePages
	for _, pool := range pools {
		name := strings.TrimSuffix(strings.TrimPrefix(path.Base(pool), "hugepages-"), "kB")
		size, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			continue
		}
		number, err := strconv.ParseInt(first(root, path.Join(pool, "nr_hugepages")), 10, 64)
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
