package admit

import (
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAdviceTellsWhatAPodsAuthorDoesNotExpect(t *testing.T) {
	n := Node{Listeners: []Listener{
		{Address: netip.IPv4Unspecified(), Port: 10250, Serves: "its API"},
		{Address: netip.MustParseAddr("127.0.0.1"), Port: 10248, Serves: "its health"},
	}}
	port := func(p corev1.ContainerPort) *corev1.Pod {
		p.ContainerPort = 80
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a:1", Ports: []corev1.ContainerPort{p}}}}}
	}
	memory := func(quantity string) *corev1.Pod {
		limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
		return &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Image: "a:1", Resources: corev1.ResourceRequirements{Limits: limits}}}}}
	}
	const hostPort = "spec.containers[0].ports[0].hostPort: on port "
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want string // none where it is empty
	}{
		{"a port of the node", port(corev1.ContainerPort{HostPort: 10250, Protocol: corev1.ProtocolTCP}), hostPort + "10250 this node serves its API; take another"},
		{"at one address of the host", port(corev1.ContainerPort{HostPort: 10250, HostIP: "10.0.0.1", Protocol: corev1.ProtocolTCP}), hostPort + "10250"},
		{"a port of the node at one address", port(corev1.ContainerPort{HostPort: 10248, Protocol: corev1.ProtocolTCP}), hostPort + "10248 this node serves its health"},
		{"at the same address", port(corev1.ContainerPort{HostPort: 10248, HostIP: "127.0.0.1", Protocol: corev1.ProtocolTCP}), hostPort + "10248"},
		{"at another address", port(corev1.ContainerPort{HostPort: 10248, HostIP: "10.0.0.1", Protocol: corev1.ProtocolTCP}), ""},
		{"over another protocol", port(corev1.ContainerPort{HostPort: 10250, Protocol: corev1.ProtocolUDP}), ""},
		{"another port", port(corev1.ContainerPort{HostPort: 8080, Protocol: corev1.ProtocolTCP}), ""},
		{"a port of the container alone", port(corev1.ContainerPort{Protocol: corev1.ProtocolTCP}), ""},
		{"an image with a space", &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "a b"}}}},
			`spec.containers[0].image: image reference "a b" is not of the form [registry/]path[:tag][@digest] (it holds a space); the container will wait with InvalidImageName`},
		{"a volume's image with a space", &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "a b"}}}}}},
			"spec.volumes[0].image.reference: image reference"},
		{"a fraction of a byte", memory("64m"), "spec.initContainers[0].resources.limits[memory]: 64m is a fraction of a byte; write 64M or 64Mi"},
		{"bytes", memory("64M"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(n.Advice(c.pod), "\n")
			if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestALackIsToldInTheUnitsOfManifests(t *testing.T) {
	n := Node{Allocatable: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("7.5Gi"), corev1.ResourcePods: resource.MustParse("1"),
	}}
	pod := func(cpu, memory string) *corev1.Pod {
		requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}}}
	}
	for _, c := range []struct {
		name   string
		pod    *corev1.Pod
		others []*corev1.Pod
		want   string
	}{
		{"room for it", pod("1", "1Gi"), nil, ""},
		{"more than there is", pod("1", "900Gi"), nil, "it requests 900Gi of memory, and this node has 7.5Gi for pods"},
		{"more than is left", pod("1500m", "1Gi"), []*corev1.Pod{pod("3", "1Gi")},
			"it requests 1 of pods, and other pods have 1 of the 1 of this node; it requests 1500m of cpu, and other pods have 3 of the 4 of this node"},
	} {
		if got := n.Lacking(c.pod, c.others); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
