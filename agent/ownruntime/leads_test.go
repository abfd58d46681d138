package ownruntime

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"nodal/agent/config"
	"nodal/host/podnet/service"
	"nodal/node"
	"nodal/node/store"
)

// forgetful is a journal that keeps nothing.
type forgetful struct{}

func (forgetful) Commit(...store.Record) error         { return nil }
func (forgetful) CommitReserved(...store.Record) error { return nil }

func newStore(t *testing.T, objects ...node.Value) *store.Store {
	t.Helper()
	clock, err := store.OpenClock(forgetful{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(forgetful{}, clock)
	put(t, s, objects...)
	return s
}

func put(t *testing.T, s *store.Store, objects ...node.Value) {
	t.Helper()
	if _, err := s.Transact(func(tx *store.Tx) error {
		for _, o := range objects {
			tx.PutObject(node.NewObject(o))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func sliceOf(address string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}}}
	s.SetGroupVersionKind(discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"))
	s.Namespace, s.Name, s.Labels = "default", "web-1", map[string]string{discoveryv1.LabelServiceName: "web"}
	s.Ports = []discoveryv1.EndpointPort{{Port: new(int32(8080))}}
	return s
}

func web() *corev1.Service {
	s := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.20", Ports: []corev1.ServicePort{{Port: 80, Protocol: "TCP"}}}}
	s.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	s.Namespace, s.Name = "default", "web"
	return s
}

func TestServicesLeadWhereTheirSlicesSay(t *testing.T) {
	s := newStore(t, sliceOf("10.89.0.2"))
	l := &leads{store: s}
	if ports, some := l.Ports(); some || ports != nil {
		t.Errorf("without a service: got %v", ports)
	}
	put(t, s, web())
	for _, address := range []string{"10.89.0.2", "10.89.0.3"} {
		put(t, s, sliceOf(address))
		ports, some := l.Ports()
		want := []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr(address), 8080)}
		if !some || len(ports) != 1 || !slices.Equal(ports[0].Backends, want) {
			t.Errorf("got %v, want %v", ports, want)
		}
		if again, _ := l.Ports(); !slices.EqualFunc(again, ports, service.Port.Equal) {
			t.Errorf("asked again: got %v", again)
		}
	}
}

func TestServicesDoNotLeadToPodsWithoutASandbox(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "default", "web-pod", "u1"
	slice := sliceOf("10.89.0.2")
	slice.Endpoints[0].TargetRef = &corev1.ObjectReference{Namespace: "default", Name: "web-pod", UID: "u1"}
	s := newStore(t, web(), slice)
	key := node.KeyOf(pod)
	if _, err := s.Transact(func(tx *store.Tx) error { tx.Put(key, &node.Slot{Pod: &node.Pod{Object: pod}}); return nil }); err != nil {
		t.Fatal(err)
	}
	l := &leads{store: s}
	for _, c := range []struct {
		name string
		got  *node.Observed
		want int
	}{
		{"one that was not looked at yet", nil, 1},
		{"one of before the boot", &node.Observed{Sandboxes: []node.Sandbox{{State: node.SandboxNotReady}}}, 0},
		{"one that runs", &node.Observed{Sandboxes: []node.Sandbox{{State: node.SandboxReady}}}, 1},
	} {
		if c.got != nil {
			s.Observe(key, c.got)
		}
		if ports, _ := l.Ports(); len(ports) != 1 || len(ports[0].Backends) != c.want {
			t.Errorf("%s: got %v, want %d places", c.name, ports, c.want)
		}
	}
}

func TestServicesWaitForTheFirstLook(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	looked, began := make(chan struct{}), 0
	end()
	if followOnce(ctx, looked, func() { began++ }); began != 0 {
		t.Error("services lead to pods that were not looked at")
	}
	close(looked)
	if followOnce(t.Context(), looked, func() { began++ }); began != 1 {
		t.Error("services lead nowhere after the look")
	}
}

func TestANodeWithoutServicesLeadsNowhere(t *testing.T) {
	s := newStore(t, web(), sliceOf("10.89.0.2"))
	if got := leadsOf(config.Runtime{NoServices: true}, s); got != nil {
		t.Errorf("got %v", got)
	}
	if got := leadsOf(config.Runtime{}, s); got == nil {
		t.Error("services lead nowhere")
	}
}
