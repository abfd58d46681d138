package cgroup

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

func podOf(uid types.UID, requests, limits corev1.ResourceList) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.UID = uid
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}}
	return pod
}

// amounts returns an amount of CPU and memory.
func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func TestWhereAPodLives(t *testing.T) {
	const uid = "6f4e-11"
	best, burst, sure := podOf(uid, nil, nil), podOf(uid, amounts("1", "1Mi"), nil), podOf(uid, nil, amounts("1", "1Mi"))
	for _, c := range []struct {
		name         string
		root         string
		systemd      bool
		pod          *corev1.Pod
		parent, path string
	}{
		{"a guaranteed pod", "", false, sure, "/kubepods/pod6f4e-11", "/kubepods/pod6f4e-11"},
		{"a burstable pod", "/", false, burst, "/kubepods/burstable/pod6f4e-11", "/kubepods/burstable/pod6f4e-11"},
		{"a pod of best effort", "/a/b-c", false, best, "/a/b-c/kubepods/besteffort/pod6f4e-11", "/a/b-c/kubepods/besteffort/pod6f4e-11"},
		{"a guaranteed pod with systemd", "", true, sure, "kubepods-pod6f4e_11.slice", "/kubepods.slice/kubepods-pod6f4e_11.slice"},
		{"a burstable pod with systemd", "/", true, burst, "kubepods-burstable-pod6f4e_11.slice",
			"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6f4e_11.slice"},
		{"below a slice", "a-b.slice", true, best, "a-b-kubepods-besteffort-pod6f4e_11.slice",
			"/a.slice/a-b.slice/a-b-kubepods.slice/a-b-kubepods-besteffort.slice/a-b-kubepods-besteffort-pod6f4e_11.slice"},
		{"below a slice that is given as a path", "/a.slice/a-b.slice", true, sure, "a-b-kubepods-pod6f4e_11.slice",
			"/a.slice/a-b.slice/a-b-kubepods.slice/a-b-kubepods-pod6f4e_11.slice"},
		{"below a path that is a slice to systemd", "/a", true, sure, "a-kubepods-pod6f4e_11.slice", "/a.slice/a-kubepods.slice/a-kubepods-pod6f4e_11.slice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := &Tree{root: parseRoot(c.root).child("kubepods")}
			if c.systemd {
				tree.systemd = newSystemd(2)
			}
			if got := tree.Parent(c.pod); got != c.parent {
				t.Errorf("the runtime is told %s, want %s", got, c.parent)
			}
			own := entryOf(c.pod)
			if got := tree.path(tree.classOf(own.class).child("pod" + uid)); got != c.path {
				t.Errorf("it is made at %s, want %s", got, c.path)
			}
		})
	}
}

func TestCgroupDirectoriesBelongToPodsOrToOthers(t *testing.T) {
	for _, c := range []struct {
		name    string
		systemd bool
		dir     string
		want    []types.UID
	}{
		{"a pod's", false, "poda-b", []types.UID{"a-b"}},
		{"a class's", false, "burstable", nil},
		{"a container's", false, "4f2a", nil},
		{"nobody's", false, "pod", nil},
		{"a pod's slice", true, "kubepods-burstable-poda_b.slice", []types.UID{"a_b", "a-b"}},
		{"a guaranteed pod's slice", true, "kubepods-poda.slice", nil},
		{"a scope", true, "cri-containerd-4f2a.scope", nil},
		{"what only looks like one", true, "kubepods-burstable-pod.slice", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := &Tree{root: name{"kubepods"}}
			if c.systemd {
				tree.systemd = newSystemd(2)
			}
			if got := tree.uidsOf(tree.root.child(burstable), c.dir); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAUIDDoesNotLeadElsewhere(t *testing.T) {
	for _, uid := range []types.UID{"", "../../x", "a/b", "a\x00b"} {
		if word, err := podWord(uid); err == nil {
			t.Errorf("uid %q names cgroup %q", uid, word)
		}
	}
}
