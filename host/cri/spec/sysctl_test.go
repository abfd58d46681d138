package spec

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestSysctls(t *testing.T) {
	usual := map[string]string{
		"net/core/somaxconn": "1", "kernel.shmall": "2", "fs.mqueue.msg_max": "3", "kernel.domainname": "four", "user.max_ipc_namespaces": "5",
	}
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		want map[string]string
	}{
		"the node's, in the namespaces that are the pod's": {corev1.PodSpec{},
			map[string]string{"net.core.somaxconn": "1", "kernel.shmall": "2", "fs.mqueue.msg_max": "3", "kernel.domainname": "four"}},
		"on the host's network": {corev1.PodSpec{HostNetwork: true}, map[string]string{"kernel.shmall": "2", "fs.mqueue.msg_max": "3"}},
		"with the host's IPC":   {corev1.PodSpec{HostIPC: true}, map[string]string{"net.core.somaxconn": "1", "kernel.domainname": "four"}},
		"with users of its own": {corev1.PodSpec{HostUsers: new(false), HostIPC: true, HostNetwork: true}, map[string]string{"user.max_ipc_namespaces": "5"}},
		"the pod's own go first, one by one": {
			corev1.PodSpec{HostNetwork: false, HostIPC: true, SecurityContext: &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{
				{Name: "net.core.somaxconn", Value: "9"}, {Name: "net/ipv4/ip_forward", Value: "1"},
			}}},
			map[string]string{"net.core.somaxconn": "9", "net.ipv4.ip_forward": "1", "kernel.domainname": "four"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sysctls(&c.spec, usual); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if got := sysctls(&corev1.PodSpec{}, map[string]string{"vm.swappiness": "1"}); len(got) != 0 {
		t.Errorf("got %v, want nothing of the whole machine's", got)
	}
}
