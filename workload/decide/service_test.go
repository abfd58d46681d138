package decide

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
)

func serviceOf(name string, changes ...func(*corev1.ServiceSpec)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metaOf(name), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.20", Selector: app(name),
		Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
	for _, change := range changes {
		change(&s.Spec)
	}
	return s
}

// leads returns the slices of a service, and the names of the pods that it leads to.
func (s *site) leads(service string) (found []*discoveryv1.EndpointSlice, to []string) {
	for _, v := range s.objects {
		slice, ok := v.(*discoveryv1.EndpointSlice)
		if !ok || slice.Labels[discoveryv1.LabelServiceName] != service {
			continue
		}
		found = append(found, slice)
		for _, e := range slice.Endpoints {
			if *e.Conditions.Ready {
				to = append(to, e.TargetRef.Name)
			}
		}
	}
	slices.Sort(to)
	return found, to
}

func (s *site) readyPods() (names []string) {
	for _, p := range s.sorted() {
		if ready(p) && p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

func TestAServiceLeadsToThePodsThatAreReady(t *testing.T) {
	s := newSite(t)
	s.post(serviceOf("web"))
	s.round()
	if found, _ := s.leads("web"); len(found) != 1 || len(found[0].Endpoints) != 0 {
		t.Errorf("without pods there are %v, want one empty slice", found)
	}
	s.post(setOf("web", 3))
	s.post(setOf("other", 1))
	s.settle()
	found, to := s.leads("web")
	if len(found) != 1 || len(to) != 3 || *found[0].Ports[0].Port != 8080 || *found[0].Ports[0].Name != "http" {
		t.Fatalf("the slices are %v and lead to %v", found, to)
	}
	first := s.pods[to[0]]
	s.end(first, corev1.PodRunning) // it runs, and is not ready
	s.round()
	if found, to := s.leads("web"); len(to) != 2 || len(found[0].Endpoints) != 3 {
		t.Errorf("with one that is not ready the slices are %v", found)
	}
	s.take(Change{Do: DeletePod, Pod: s.pods[to[1]]})
	s.round()
	if _, now := s.leads("web"); slices.Contains(now, to[1]) {
		t.Errorf("it leads to %v: %s ends", now, to[1])
	}
	delete(s.objects, node.ObjectRef{Kind: node.Service, Namespace: "default", Name: "web"})
	s.round()
	if found, _ := s.leads("web"); len(found) != 0 {
		t.Errorf("after the service there are %v", found)
	}
}

func TestAServiceLeadsToNewPodsBeforeOldOnesGo(t *testing.T) {
	s := newSite(t)
	s.post(serviceOf("web"))
	s.post(deploymentOf("web", "v1", 2))
	s.settle()
	next := deploymentOf("web", "v1", 2)
	next.Spec.Template.Spec.Containers[0].Image = "v2"
	s.post(next)
	for range 60 {
		plan := Next(s.look())
		for i, c := range plan.Changes {
			if _, slice := c.Value.(*discoveryv1.EndpointSlice); slice && i > 0 {
				before := plan.Changes[i-1]
				if _, too := before.Value.(*discoveryv1.EndpointSlice); !too {
					t.Fatalf("%s comes after %s", c.Do, before.Do)
				}
			}
			s.take(c)
		}
		if _, to := s.leads("web"); len(to) < 1 {
			t.Fatal("the service leads nowhere")
		}
		for _, p := range s.sorted() {
			s.live(p)
		}
	}
	if _, to := s.leads("web"); !slices.Equal(to, s.readyPods()) || len(to) != 2 {
		t.Errorf("it leads to %v, want %v", to, s.readyPods())
	}
}

func TestPortsByNameAreThoseOfEachPod(t *testing.T) {
	s := newSite(t)
	s.post(serviceOf("web", func(spec *corev1.ServiceSpec) { spec.Ports[0].TargetPort = intstr.FromString("front") }))
	for name, port := range map[string]int32{"a": 8080, "b": 9090, "c": 0} {
		set := setOf(name, 1)
		set.Spec.Selector.MatchLabels, set.Spec.Template.Labels = map[string]string{"app": "web", "of": name}, map[string]string{"app": "web", "of": name}
		if port > 0 {
			set.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "front", ContainerPort: port, Protocol: corev1.ProtocolTCP}}
		}
		s.post(set)
	}
	s.settle()
	found, _ := s.leads("web")
	ports := map[int32]int{}
	for _, slice := range found {
		number := int32(0)
		if len(slice.Ports) > 0 {
			number = *slice.Ports[0].Port
		}
		ports[number] += len(slice.Endpoints)
	}
	if len(found) != 3 || ports[8080] != 1 || ports[9090] != 1 || ports[0] != 1 {
		t.Errorf("there are %d slices with endpoints %v, want one for each port", len(found), ports)
	}
}

func TestSlicesOfOthersStay(t *testing.T) {
	s := newSite(t)
	kept := &discoveryv1.EndpointSlice{ObjectMeta: metaOf("mine"), AddressType: discoveryv1.AddressTypeIPv4}
	kept.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
	s.post(kept)
	s.post(serviceOf("web", func(spec *corev1.ServiceSpec) { spec.Selector = nil }))
	s.settle()
	if found, _ := s.leads("web"); len(found) != 1 || found[0].Name != "mine" {
		t.Errorf("there are %v, want the one of another author", found)
	}
}

func TestPodsAreFoundBeforeTheyAreReadyIfTheServiceSaysSo(t *testing.T) {
	s := newSite(t)
	s.post(serviceOf("web", func(spec *corev1.ServiceSpec) {
		spec.PublishNotReadyAddresses, spec.ClusterIP = true, corev1.ClusterIPNone
	}))
	set := setOf("web", 1)
	set.Spec.Template.Spec.Hostname, set.Spec.Template.Spec.Subdomain = "first", "web"
	s.post(set)
	s.settle()
	for _, p := range s.sorted() {
		s.end(p, corev1.PodRunning)
	}
	s.round()
	found, to := s.leads("web")
	if len(to) != 1 || *found[0].Endpoints[0].Hostname != "first" || *found[0].Endpoints[0].Conditions.Serving {
		t.Errorf("it leads to %v by %v", to, found)
	}
	if _, headless := found[0].Labels[corev1.IsHeadlessService]; !headless {
		t.Errorf("the labels are %v", found[0].Labels)
	}
}

func TestServicesFindTheirPodsAfterAnyCrash(t *testing.T) {
	for seed := range uint64(40) {
		random, s := rand.New(rand.NewPCG(seed, 26)), newSite(t)
		s.post(serviceOf("web"))
		s.post(setOf("web", 3))
		s.chaos(random, func() {})
		s.settle()
		if _, to := s.leads("web"); !slices.Equal(to, s.readyPods()) {
			t.Errorf("seed %d: it leads to %s, want %s", seed, strings.Join(to, " "), strings.Join(s.readyPods(), " "))
		}
	}
}
