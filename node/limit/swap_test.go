package limit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestSwap(t *testing.T) {
	const machine = 8 << 30
	all := Swap{Limited: true, Total: 4 << 30}
	burst := podOf(asks(quantities("memory", "1Gi"), quantities("memory", "2Gi")))
	critical := having(podOf(burst.Spec.Containers[0]), func(s *corev1.PodSpec) { s.Priority = new(int32(2_000_001_000)) })
	needed := having(podOf(burst.Spec.Containers[0]), func(s *corev1.PodSpec) { s.PriorityClassName = "system-cluster-critical" })
	static := podOf(burst.Spec.Containers[0])
	static.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	same := quantities("cpu", "1", "memory", "1Gi")
	for _, c := range []struct {
		name string
		swap Swap
		pod  *corev1.Pod
		want int64
	}{
		{"a part as large as the request is of the memory", all, burst, 512 << 20},
		{"none where nobody gets any", Swap{Total: 4 << 30}, burst, 0},
		{"none on a machine without", Swap{Limited: true}, burst, 0},
		{"none for a guaranteed pod", all, podOf(asks(same, same)), 0},
		{"none for best effort", all, podOf(asks(nil, nil)), 0},
		{"none for one that asks for no memory", all, podOf(asks(quantities("cpu", "1"), nil)), 0},
		{"none for one whose memory is guaranteed", all, podOf(asks(quantities("memory", "1Gi"), quantities("memory", "1Gi"))), 0},
		{"none for what the cluster needs", all, critical, 0},
		{"nor where its class alone says so", all, needed, 0},
		{"none for a static pod", all, static, 0},
	} {
		if got := c.swap.Of(c.pod, &c.pod.Spec.Containers[0], machine); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
