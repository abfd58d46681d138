package volume

import (
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
)

// mountHugePages mounts a file system of huge pages on the directory of a volume. Its pages count for the containers
// that use them; the volume's size limit bounds it too.
func mountHugePages(at place, mode fs.FileMode) error {
	page, err := pageSize(at)
	if err != nil {
		return err
	}
	if there, err := makeMountPoint(at.dir); there || err != nil {
		return err
	}
	options := fmt.Sprintf("%s,pagesize=%d", at.mountOptions(mode), page)
	if limit := at.volume.EmptyDir.SizeLimit; limit != nil && limit.Sign() > 0 {
		options += fmt.Sprintf(",size=%d", limit.Value())
	}
	if err := unix.Mount("hugetlbfs", at.dir, "hugetlbfs", 0, options); err != nil {
		return fmt.Errorf("mount huge pages of %d bytes at %s: %w", page, at.dir, err)
	}
	return at.setMode(mode, groupAll) // the mount does not set the bit for the group of new files
}

// pageSize returns the page size that the medium names, or else the only one that containers of the pod request.
func pageSize(at place) (int64, error) {
	medium, asked := at.volume.EmptyDir.Medium, requestedPages(at.pod)
	named, ok := strings.CutPrefix(string(medium), string(corev1.StorageMediumHugePagesPrefix))
	switch {
	case ok && !asked[named]:
		return 0, fmt.Errorf("medium %s: no container of the pod requests %s%s", medium, corev1.ResourceHugePagesPrefix, named)
	case !ok && medium != corev1.StorageMediumHugePages:
		return 0, fmt.Errorf("medium %q: %w", medium, node.ErrUnsupported)
	case !ok && len(asked) != 1:
		return 0, fmt.Errorf("medium %s: the containers of the pod have to request huge pages of one size, not of %d", medium, len(asked))
	case !ok:
		for size := range asked {
			named = size
		}
	}
	size, err := resource.ParseQuantity(named)
	if err != nil {
		return 0, fmt.Errorf("medium %s: %w", medium, err)
	}
	return size.Value(), nil
}

// requestedPages returns the sizes of huge pages that the containers of a pod request.
func requestedPages(pod *corev1.Pod) map[string]bool {
	sizes := map[string]bool{}
	for c := range node.Containers(&pod.Spec) {
		for name, amount := range c.Resources.Requests {
			if size, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix); ok && !amount.IsZero() {
				sizes[size] = true
			}
		}
	}
	return sizes
}
