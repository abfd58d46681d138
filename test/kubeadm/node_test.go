package kubeadm

import (
	"maps"
	"testing"
)

func TestImagesOfAControlPlaneHoldThePrograms(t *testing.T) {
	got := programs([]string{
		"nodal.test/kube-apiserver:v1.36.3", "nodal.test/kube-scheduler:v1.36.3", "nodal.test/coredns:v1.14.2",
		"nodal.test/pause:3.10.2", "registry.test:5000/etcd:3.6.8-0",
	})
	want := map[string]map[string]string{
		"kubernetes": {"nodal.test/kube-apiserver:v1.36.3": "kube-apiserver", "nodal.test/kube-scheduler:v1.36.3": "kube-scheduler"},
		"etcd":       {"registry.test:5000/etcd:3.6.8-0": "etcd"},
		"coredns":    {"nodal.test/coredns:v1.14.2": "coredns"},
	}
	if !maps.EqualFunc(got, want, maps.Equal[map[string]string]) {
		t.Errorf("got %v, want %v", got, want)
	}
}
