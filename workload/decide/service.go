package decide

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
)

// sliceManager is the value of the label of slices that are made here. It is the one of Kubernetes' controller.
const sliceManager = "endpointslice-controller.k8s.io"

// services keeps the slices of services. New endpoints come first: those that go have been replaced by then.
func (c *circle) services() {
	left := map[node.ObjectRef]*discoveryv1.EndpointSlice{}
	for _, s := range c.Slices {
		if s.Labels[discoveryv1.LabelManagedBy] == sliceManager {
			left[node.NewObject(s).Ref()] = s
		}
	}
	for _, s := range c.Services {
		if len(s.Spec.Selector) == 0 || s.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		for _, want := range c.slicesOf(s) {
			ref := node.NewObject(want).Ref()
			c.putSlice(want, left[ref])
			delete(left, ref)
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(left), func(a, b node.ObjectRef) int { return strings.Compare(a.String(), b.String()) }) {
		c.plan.add(Change{Do: DeleteObject, Value: left[ref]})
	}
}

// putSlice makes a slice, or changes the one that is there.
func (c *circle) putSlice(want, is *discoveryv1.EndpointSlice) {
	if is == nil {
		c.plan.add(Change{Do: MakeObject, Value: want})
		return
	}
	same := apiequality.Semantic.DeepEqual(want.Endpoints, is.Endpoints) && apiequality.Semantic.DeepEqual(want.Ports, is.Ports) &&
		maps.Equal(want.Labels, is.Labels)
	if same {
		return
	}
	next := is.DeepCopy()
	next.Endpoints, next.Ports, next.Labels = want.Endpoints, want.Ports, want.Labels
	c.plan.add(Change{Do: ChangeObject, Value: next})
}

// slicesOf returns the slices of a service: one for the pods whose ports are the same. Without pods there is an empty one.
func (c *circle) slicesOf(s *corev1.Service) []*discoveryv1.EndpointSlice {
	made := map[string]*discoveryv1.EndpointSlice{}
	for _, p := range c.Everyone {
		if !selected(s, p) {
			continue
		}
		address := addressOf(p)
		if address == "" || ended(p) {
			continue
		}
		ports := portsOf(s, p)
		name := sliceName(s, fmt.Sprint(portText(ports)))
		if made[name] == nil {
			made[name] = newSlice(s, name, ports)
		}
		made[name].Endpoints = append(made[name].Endpoints, endpointOf(s, p, address))
	}
	if len(made) == 0 {
		name := sliceName(s, "")
		made[name] = newSlice(s, name, nil)
	}
	var all []*discoveryv1.EndpointSlice
	for _, name := range slices.Sorted(maps.Keys(made)) {
		slice := made[name]
		slices.SortFunc(slice.Endpoints, func(a, b discoveryv1.Endpoint) int { return strings.Compare(a.TargetRef.Name, b.TargetRef.Name) })
		slice.Endpoints = slice.Endpoints[:min(len(slice.Endpoints), mostEndpoints)]
		all = append(all, slice)
	}
	return all
}

// mostEndpoints limits a slice. It is far more than a node has pods.
const mostEndpoints = 1000

func sliceName(s *corev1.Service, ports string) string {
	return s.Name + "-" + word(fmt.Sprintf("%s/%s", s.UID, ports), suffix)
}

func newSlice(s *corev1.Service, name string, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	labels := map[string]string{}
	maps.Copy(labels, s.Labels)
	labels[discoveryv1.LabelServiceName], labels[discoveryv1.LabelManagedBy] = s.Name, sliceManager
	if s.Spec.ClusterIP == corev1.ClusterIPNone {
		labels[corev1.IsHeadlessService] = ""
	}
	kind, _ := node.KindNamed(string(node.EndpointSlice))
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: labels},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: ports, Endpoints: []discoveryv1.Endpoint{},
	}
	slice.SetGroupVersionKind(kind.GroupVersionKind())
	return slice
}

func selected(s *corev1.Service, p *corev1.Pod) bool {
	if p.Namespace != s.Namespace {
		return false
	}
	for key, value := range s.Spec.Selector {
		if has, there := p.Labels[key]; !there || has != value {
			return false
		}
	}
	return true
}

// addressOf returns the pod's address of IPv4, which is the family of services.
func addressOf(p *corev1.Pod) string {
	for _, ip := range p.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil && a.Is4() {
			return ip.IP
		}
	}
	return ""
}

func endpointOf(s *corev1.Service, p *corev1.Pod, address string) discoveryv1.Endpoint {
	serving, terminating := ready(p), p.DeletionTimestamp != nil
	leads := s.Spec.PublishNotReadyAddresses || serving && !terminating
	e := discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: &leads, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
	}
	if p.Spec.NodeName != "" {
		e.NodeName = &p.Spec.NodeName
	}
	if p.Spec.Hostname != "" && p.Spec.Subdomain == s.Name {
		e.Hostname = &p.Spec.Hostname
	}
	return e
}

// portsOf returns the ports of a service at a pod. A name that the pod has no port for leads nowhere.
func portsOf(s *corev1.Service, p *corev1.Pod) (ports []discoveryv1.EndpointPort) {
	for i := range s.Spec.Ports {
		of := &s.Spec.Ports[i]
		number := of.TargetPort.IntVal
		if of.TargetPort.Type == intstr.String {
			number = portNamed(p, of.TargetPort.StrVal, of.Protocol)
		}
		if number == 0 {
			continue
		}
		ports = append(ports, discoveryv1.EndpointPort{Name: &of.Name, Protocol: &of.Protocol, Port: &number, AppProtocol: of.AppProtocol})
	}
	return ports
}

func portNamed(p *corev1.Pod, name string, protocol corev1.Protocol) int32 {
	for c := range node.Containers(&p.Spec) {
		for _, port := range c.Ports {
			if port.Name == name && port.Protocol == protocol {
				return port.ContainerPort
			}
		}
	}
	return 0
}

func portText(ports []discoveryv1.EndpointPort) (all []string) {
	for _, p := range ports {
		all = append(all, fmt.Sprintf("%s/%d/%s", *p.Name, *p.Port, *p.Protocol))
	}
	return all
}
