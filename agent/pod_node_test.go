package agent

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/agent/config"
	"nodal/host/cri/spec"
	"nodal/node/admit"
	"nodal/node/limit"
	"nodal/node/offer"
)

func TestPodsAreTranslatedForThePresentOffer(t *testing.T) {
	fixed := fixedNode(config.Pods{
		SeccompDefault: true, Sysctls: map[string]string{"net.core.somaxconn": "1"},
		DNS: config.DNS{Servers: []string{"10.0.0.10"}, Domain: "cluster.local"},
	}, "/profiles", spec.Machine{Name: "n1", OOMGroup: true})
	left := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	got := podNode(fixed, offer.Offer{Node: admit.Node{
		Capacity:    corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")},
		Allocatable: left, Swap: limit.Swap{Limited: true, Total: 5},
	}}, true)
	want := spec.Node{
		SeccompDefault: true, SeccompDir: "/profiles", Sysctls: map[string]string{"net.core.somaxconn": "1"},
		DNS: spec.DNS{Servers: []string{"10.0.0.10"}, Domain: "cluster.local"},
		Machine: spec.Machine{
			Name: "n1", OOMGroup: true, Memory: 2 << 30, Allocatable: left, Swap: limit.Swap{Limited: true, Total: 5},
			SwapLimits: true,
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if fixed.Machine.Memory != 0 || fixed.Machine.SwapLimits {
		t.Error("the part that is fixed has changed")
	}
}
