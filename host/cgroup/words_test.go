package cgroup

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestThePathOfACgroupHasTheSameWordsWithEveryOwner(t *testing.T) {
	for _, c := range []struct{ name, path, want string }{
		{"files", "/kubepods/burstable/pod1-2/0c1d", "kubepods burstable pod1-2 0c1d"},
		{"systemd", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-0c1d.scope",
			"kubepods burstable pod1_2 0c1d"},
		{"a cgroup in a container", "/kubepods/pod1-2/0c1d/init.scope", "kubepods pod1-2 0c1d init"},
		{"the top", "/", ""},
		{"none", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(Words(c.path), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAPodIsFoundByTheWordsOfItsCgroup(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "01-ab_cd"}}
	for _, systemd := range []bool{false, true} {
		tree := newTree(Config{Mounts: Mounts{Version: 2}, Systemd: systemd, Root: "/a/b", Name: "nodal-7"})
		words := Words(tree.Path(pod))
		last, may := words[len(words)-1], PodWords(string(pod.UID))
		if !slices.Contains(may[:], last) {
			t.Errorf("systemd %t: the pod's cgroup is %q, want one of %q", systemd, last, may)
		}
	}
}
