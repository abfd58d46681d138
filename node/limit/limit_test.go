package limit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// quantities reads "cpu", "100m", "memory", "1Gi".
func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// asks is a container that requests one thing and is limited to another.
func asks(requests, limits corev1.ResourceList) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func podOf(containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: containers}}
}

func having(pod *corev1.Pod, change func(*corev1.PodSpec)) *corev1.Pod {
	change(&pod.Spec)
	return pod
}

const mebi = 1 << 20

func TestLimitsOfPod(t *testing.T) {
	small := asks(quantities("cpu", "250m", "memory", "64Mi"), quantities("cpu", "500m", "memory", "128Mi"))
	same := quantities("cpu", "1", "memory", "1Mi")
	always := corev1.ContainerRestartPolicyAlways
	sidecar := small
	sidecar.RestartPolicy = &always
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		rules Rules
		want  Limits
	}{
		{"best effort has the least weight and no bound", podOf(asks(nil, nil)), Rules{}, Limits{CPUShares: 2}},
		{"and the node's bound on processes", podOf(asks(nil, nil)), Rules{Pids: 100}, Limits{CPUShares: 2, Pids: 100}},
		{"a sum over the containers", podOf(small, small), Rules{},
			Limits{CPUShares: 512, CPUQuota: 100_000, CPUPeriod: 100_000, Memory: 256 * mebi}},
		{"one container without a memory limit leaves the pod without", podOf(small, asks(nil, quantities("cpu", "500m"))), Rules{},
			Limits{CPUShares: 256, CPUQuota: 100_000, CPUPeriod: 100_000}},
		{"one without any leaves it without any", podOf(small, asks(nil, nil)), Rules{}, Limits{CPUShares: 256}},
		{"guaranteed", podOf(asks(same, same)), Rules{}, Limits{CPUShares: 1024, CPUQuota: 100_000, CPUPeriod: 100_000, Memory: mebi}},
		{"what starts before counts where it is more", having(podOf(small), func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{asks(quantities("cpu", "2"), quantities("cpu", "2", "memory", "1Mi"))}
		}), Rules{}, Limits{CPUShares: 2048, CPUQuota: 200_000, CPUPeriod: 100_000, Memory: 128 * mebi}},
		{"a sidecar counts beside the others", having(podOf(small), func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{sidecar}
		}), Rules{}, Limits{CPUShares: 512, CPUQuota: 100_000, CPUPeriod: 100_000, Memory: 256 * mebi}},
		{"overhead is set aside", having(podOf(small), func(s *corev1.PodSpec) {
			s.Overhead = quantities("cpu", "250m", "memory", "1Mi")
		}), Rules{}, Limits{CPUShares: 512, CPUQuota: 75_000, CPUPeriod: 100_000, Memory: 129 * mebi}},
		{"what the pod says as a whole counts", having(podOf(asks(nil, nil)), func(s *corev1.PodSpec) {
			s.Resources = &corev1.ResourceRequirements{Requests: quantities("cpu", "1"), Limits: quantities("cpu", "2", "memory", "4Mi")}
		}), Rules{}, Limits{CPUShares: 1024, CPUQuota: 200_000, CPUPeriod: 100_000, Memory: 4 * mebi}},
		{"the node's period", podOf(small), Rules{CPUPeriod: 10_000},
			Limits{CPUShares: 256, CPUQuota: 5_000, CPUPeriod: 10_000, Memory: 128 * mebi}},
		{"a node that bounds no CPU", podOf(small), Rules{NoQuota: true}, Limits{CPUShares: 256, Memory: 128 * mebi}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := OfPod(c.pod, c.rules); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestLimitsOfContainer(t *testing.T) {
	for _, c := range []struct {
		name             string
		requests, limits corev1.ResourceList
		whole            *corev1.ResourceRequirements
		rules            Rules
		want             Limits
	}{
		{"nothing asked for", nil, nil, nil, Rules{}, Limits{CPUShares: 2, CPUPeriod: 100_000}},
		{"a request alone", quantities("cpu", "500m", "memory", "1Mi"), nil, nil, Rules{}, Limits{CPUShares: 512, CPUPeriod: 100_000}},
		{"a limit alone stands for the request too", nil, quantities("cpu", "2"), nil, Rules{},
			Limits{CPUShares: 2048, CPUQuota: 200_000, CPUPeriod: 100_000}},
		{"a request of nothing is not the limit", quantities("cpu", "0"), quantities("cpu", "2"), nil, Rules{},
			Limits{CPUShares: 2, CPUQuota: 200_000, CPUPeriod: 100_000}},
		{"what is too little for the kernel", quantities("cpu", "1m"), quantities("cpu", "5m"), nil, Rules{},
			Limits{CPUShares: 2, CPUQuota: 1000, CPUPeriod: 100_000}},
		{"more than the kernel takes", quantities("cpu", "1000"), nil, nil, Rules{}, Limits{CPUShares: 262_144, CPUPeriod: 100_000}},
		{"a node that bounds no CPU", nil, quantities("cpu", "1"), nil, Rules{NoQuota: true}, Limits{CPUShares: 1024}},
		{"the bound of the whole pod", quantities("cpu", "1"), nil,
			&corev1.ResourceRequirements{Limits: quantities("cpu", "2", "memory", "4Mi")}, Rules{},
			Limits{CPUShares: 1024, CPUQuota: 200_000, CPUPeriod: 100_000, Memory: 4 * mebi}},
		{"its own bound in one of the whole pod", nil, quantities("memory", "1Mi"),
			&corev1.ResourceRequirements{Limits: quantities("memory", "4Mi")}, Rules{},
			Limits{CPUShares: 2, CPUPeriod: 100_000, Memory: mebi}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podOf(asks(c.requests, c.limits))
			pod.Spec.Resources = c.whole
			if got := OfContainer(pod, &pod.Spec.Containers[0], c.rules); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestOOMScore(t *testing.T) {
	const machine = 10 << 30
	always := corev1.ContainerRestartPolicyAlways
	same := quantities("cpu", "1", "memory", "1Gi")
	burst := func(memory string) corev1.Container { return asks(quantities("memory", memory), nil) }
	withSidecar := func(containers ...corev1.Container) *corev1.Pod {
		return having(podOf(containers...), func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{RestartPolicy: &always}}
		})
	}
	whole := having(podOf(burst("1Gi"), burst("1Gi")), func(s *corev1.PodSpec) {
		s.Resources = &corev1.ResourceRequirements{Requests: quantities("memory", "4Gi")}
	})
	critical := having(podOf(burst("1Gi")), func(s *corev1.PodSpec) { s.PriorityClassName = "system-node-critical" })
	for _, c := range []struct {
		name   string
		pod    *corev1.Pod
		first  bool // the init container is meant
		memory int64
		want   int64
	}{
		{"best effort goes first", podOf(asks(nil, nil)), false, machine, 1000},
		{"guaranteed goes last", podOf(asks(same, same)), false, machine, -997},
		{"so does what the node needs", critical, false, machine, -997},
		{"burstable by its request", podOf(burst("1Gi")), false, machine, 900},
		{"one without a request goes right after best effort", podOf(asks(nil, nil), burst("1Gi")), false, machine, 999},
		{"all the memory is not yet guaranteed", podOf(burst("10Gi")), false, machine, 3},
		{"next to none is not yet best effort", podOf(burst("1")), false, machine, 999},
		{"a machine that does not tell its memory", podOf(burst("1Gi")), false, 0, 999},
		{"a sidecar is as safe as what leans on it", withSidecar(burst("5Gi")), true, machine, 500},
		{"as the least safe of them", withSidecar(burst("5Gi"), burst("1Gi")), true, machine, 900},
		{"what the pod has over is shared", whole, false, machine, 800},
	} {
		t.Run(c.name, func(t *testing.T) {
			container := &c.pod.Spec.Containers[0]
			if c.first {
				container = &c.pod.Spec.InitContainers[0]
			}
			if got := OOMScore(c.pod, container, c.memory); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestOverLetsPassWhatEitherLetsPass(t *testing.T) {
	a := Limits{CPUShares: 2, CPUQuota: 10, CPUPeriod: 100, Memory: 5, Pids: 7}
	b := Limits{CPUShares: 4, CPUQuota: 20, CPUPeriod: 100, Memory: 3}
	want := Limits{CPUShares: 4, CPUQuota: 20, CPUPeriod: 100, Memory: 5}
	for _, got := range []Limits{a.Over(b), b.Over(a)} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCover(t *testing.T) {
	for _, c := range []struct {
		name         string
		outer, inner Limits
		want         bool
	}{
		{"as much", Limits{CPUQuota: 10, CPUPeriod: 100}, Limits{CPUQuota: 10, CPUPeriod: 100}, true},
		{"more than there is", Limits{CPUQuota: 10, CPUPeriod: 100}, Limits{CPUQuota: 11, CPUPeriod: 100}, false},
		{"as much in another period", Limits{CPUQuota: 10, CPUPeriod: 100}, Limits{CPUQuota: 20, CPUPeriod: 200}, true},
		{"no bound outside", Limits{}, Limits{CPUQuota: 11, CPUPeriod: 100}, true},
		{"none inside", Limits{CPUQuota: 10, CPUPeriod: 100}, Limits{CPUPeriod: 100}, true},
		{"memory is not the kernel's to compare", Limits{Memory: 1}, Limits{Memory: 2}, true},
	} {
		if got := c.outer.Cover(c.inner); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
}
