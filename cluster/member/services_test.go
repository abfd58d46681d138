package member

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func service(name, ip string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: ports}}
}

func TestServicesAreVariables(t *testing.T) {
	web := corev1.ServicePort{Name: "http-web", Port: 80, Protocol: corev1.ProtocolTCP}
	dns := corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP}
	for _, c := range []struct {
		name     string
		services []*corev1.Service
		want     map[string]string
	}{
		{"none", nil, map[string]string{}},
		{"one without an address, and one that has none yet", []*corev1.Service{service("a", "None", web), service("b", "", web)}, map[string]string{}},
		{"one with a name for its port", []*corev1.Service{service("my-web", "10.0.0.1", web)}, map[string]string{
			"MY_WEB_SERVICE_HOST": "10.0.0.1", "MY_WEB_SERVICE_PORT": "80", "MY_WEB_SERVICE_PORT_HTTP_WEB": "80",
			"MY_WEB_PORT": "tcp://10.0.0.1:80", "MY_WEB_PORT_80_TCP": "tcp://10.0.0.1:80",
			"MY_WEB_PORT_80_TCP_PROTO": "tcp", "MY_WEB_PORT_80_TCP_PORT": "80", "MY_WEB_PORT_80_TCP_ADDR": "10.0.0.1",
		}},
		{"of one name the later, by its first port", []*corev1.Service{service("x", "10.0.0.1", web), service("x", "fd00::1", dns)}, map[string]string{
			"X_SERVICE_HOST": "fd00::1", "X_SERVICE_PORT": "53", "X_PORT": "udp://[fd00::1]:53", "X_PORT_53_UDP": "udp://[fd00::1]:53",
			"X_PORT_53_UDP_PROTO": "udp", "X_PORT_53_UDP_PORT": "53", "X_PORT_53_UDP_ADDR": "fd00::1",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := node.ServiceVariables(c.services); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestServicesComeBeforeWhatThePodSays(t *testing.T) {
	own := corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{}}
	for _, c := range []struct {
		name  string
		links *bool
		want  string
	}{
		{"unless it is said otherwise, all", nil, linksName},
		{"all", new(true), linksName},
		{"the cluster's own alone", new(false), masterName},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Spec.EnableServiceLinks = c.links
			pod.Spec.InitContainers = []corev1.Container{{Name: "init"}}
			pod.Spec.Containers = []corev1.Container{{Name: "main", EnvFrom: []corev1.EnvFromSource{own}}}
			sent := manifestOf(pod, nil)
			if sent.Spec.EnableServiceLinks != nil {
				t.Error("the node is asked for what it does not know")
			}
			from := sent.Spec.Containers[0].EnvFrom
			if len(from) != 2 || from[0].ConfigMapRef == nil || from[0].ConfigMapRef.Name != c.want || from[1].SecretRef == nil {
				t.Errorf("main takes %+v", from)
			}
			if from := sent.Spec.InitContainers[0].EnvFrom; len(from) != 1 || from[0].ConfigMapRef.Name != servicesFor(pod).Name {
				t.Errorf("init takes %+v", from)
			}
			if len(pod.Spec.Containers[0].EnvFrom) != 1 {
				t.Error("the cluster's pod was changed")
			}
		})
	}
}
