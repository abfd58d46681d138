package volume

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
)

// withHugePages is a pod with a volume of a medium whose container asks for pages.
func withHugePages(medium corev1.StorageMedium, sizes ...corev1.ResourceName) *node.Pod {
	p := pod(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium, SizeLimit: new(resource.MustParse("4Mi"))}})
	requests := corev1.ResourceList{}
	for _, size := range sizes {
		requests[size] = resource.MustParse("1Gi")
	}
	p.Object.Spec.Containers[0].Resources.Requests = requests
	return p
}

func TestEmptyDirOfHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/hugepages/hugepages-2048kB"); err != nil {
		t.Skip("the kernel has no such pages: ", err)
	}
	for _, medium := range []corev1.StorageMedium{"HugePages", "HugePages-2Mi"} {
		b := newBench(t)
		p := groupOf(withHugePages(medium, "hugepages-2Mi"), 5000)
		dir := b.setUp(p)
		b.setUp(p) // it is there
		var stat unix.Statfs_t
		if err := unix.Statfs(dir, &stat); err != nil || stat.Type != unix.HUGETLBFS_MAGIC || stat.Bsize != 2<<20 || stat.Blocks != 2 {
			t.Errorf("%s is of type %x with %d blocks of %d, %v; want two pages", medium, stat.Type, stat.Blocks, stat.Bsize, err)
		}
		wantOwned(t, dir, 5000, os.ModeDir|os.ModeSetgid|0o777)
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		b.setUp(p)
		wantOwned(t, dir, 5000, os.ModeDir|0o700)
		if len(b.mounted()) != 1 {
			t.Errorf("%s has the mounts %q, want one", medium, b.mounted())
		}
		if err := b.TearDown(t.Context(), p.UID()); err != nil || len(b.mounted()) != 0 {
			t.Errorf("%s: %v, left are %q", medium, err, b.mounted())
		}
	}
}

func TestHugePagesNeedOneMatchingRequest(t *testing.T) {
	for _, c := range []struct {
		name, want string
		pod        *node.Pod
	}{
		{"none", "request huge pages of one size, not of 0", withHugePages("HugePages")},
		{"of two sizes", "request huge pages of one size, not of 2", withHugePages("HugePages", "hugepages-2Mi", "hugepages-1Gi")},
		{"of another size", "no container of the pod requests hugepages-1Gi", withHugePages("HugePages-1Gi", "hugepages-2Mi")},
		{"no such medium", "unsupported", withHugePages("Tape")},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			err := b.SetUp(t.Context(), c.pod, "v")
			if err == nil || !strings.Contains(err.Error(), c.want) || len(b.mounted()) != 0 {
				t.Errorf("got %v and the mounts %q, want %q and none", err, b.mounted(), c.want)
			}
		})
	}
}
