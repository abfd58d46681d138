package rules_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/manifest"
)

func serviceText(spec string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {" + spec + "}\n"
}

func sliceText(more string) string {
	return "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: web}\n" + more + "\n"
}

func TestServicesGetKubernetesDefaults(t *testing.T) {
	docs, err := manifest.Decode([]byte(serviceText("type: LoadBalancer, sessionAffinity: ClientIP, ports: [{port: 80}]")), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := node.As[*corev1.Service](docs[0].Object).Spec
	if *s.SessionAffinityConfig.ClientIP.TimeoutSeconds != 10800 || s.Ports[0].Protocol != "TCP" || s.Ports[0].TargetPort.IntVal != 80 ||
		s.ExternalTrafficPolicy != "Cluster" || *s.InternalTrafficPolicy != "Cluster" || !*s.AllocateLoadBalancerNodePorts ||
		*s.IPFamilyPolicy != "SingleStack" || !slices.Equal(s.IPFamilies, []corev1.IPFamily{"IPv4"}) {
		t.Errorf("a service is %+v", s)
	}
}

func TestServicesFollowKubernetesRules(t *testing.T) {
	for _, c := range []struct {
		name, text string
		fields     []string
	}{
		{"one port", serviceText("ports: [{port: 80}]"), nil},
		{"no ports", serviceText("selector: {app: web}"), []string{"spec.ports"}},
		{"headless without ports", serviceText("clusterIP: None"), nil},
		{"two ports without names", serviceText("ports: [{port: 80}, {port: 81}]"), []string{"spec.ports[0].name", "spec.ports[1].name"}},
		{"one port twice", serviceText("ports: [{name: a, port: 80}, {name: b, port: 80}]"), []string{"spec.ports[1]"}},
		{"one port over two protocols", serviceText("ports: [{name: a, port: 80}, {name: b, port: 80, protocol: UDP}]"), nil},
		{"a port of the node without need", serviceText("ports: [{port: 80, nodePort: 30080}]"), []string{"spec.ports[0].nodePort"}},
		{"a port out of range", serviceText("ports: [{port: 70000, targetPort: 8080}]"), []string{"spec.ports[0].port"}},
		{"a target of no name", serviceText("ports: [{port: 80, targetPort: A_B}]"), []string{"spec.ports[0].targetPort"}},
		{"headless on the node", serviceText("type: NodePort, clusterIP: None, ports: [{port: 80}]"), []string{"spec.clusterIPs[0]"}},
		{"an address that is none", serviceText("clusterIP: web, ports: [{port: 80}]"), []string{"spec.clusterIPs[0]"}},
		{"an address that does not match", serviceText("clusterIP: 10.96.0.7, clusterIPs: [10.96.0.8], ports: [{port: 80}]"), []string{"spec.clusterIPs"}},
		{"another name", serviceText("type: ExternalName, externalName: example.com"), nil},
		{"no other name", serviceText("type: ExternalName"), []string{"spec.externalName"}},
		{"another name with an address", serviceText("type: ExternalName, externalName: example.com, clusterIP: 10.96.0.7"), []string{"spec.clusterIPs"}},
		{"no such type", serviceText("type: Round, ports: [{port: 80}]"), []string{"spec.type"}},
		{"affinity for no time", serviceText("sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}, ports: [{port: 80}]"), []string{"spec.sessionAffinityConfig.clientIP.timeoutSeconds"}},
		{"the traffic of outsiders", serviceText("externalTrafficPolicy: Local, ports: [{port: 80}]"), []string{"spec.externalTrafficPolicy"}},
		{"a class of balancers", serviceText("loadBalancerClass: a/b, ports: [{port: 80}]"), []string{"spec.loadBalancerClass"}},
		{"a bad label", serviceText("selector: {app: a b}, ports: [{port: 80}]"), []string{"spec.selector"}},
		{"a slice", sliceText("addressType: IPv4\nendpoints: [{addresses: [10.89.0.2]}]\nports: [{port: 80}]"), nil},
		{"a slice of no type", sliceText("endpoints: []"), []string{"addressType"}},
		{"an endpoint without addresses", sliceText("addressType: IPv4\nendpoints: [{}]"), []string{"endpoints[0].addresses"}},
		{"an address of another type", sliceText("addressType: IPv4\nendpoints: [{addresses: [\"fd00::1\"]}]"), []string{"endpoints[0].addresses:"}},
		{"the machine itself", sliceText("addressType: IPv4\nendpoints: [{addresses: [127.0.0.1]}]"), []string{"endpoints[0].addresses[0]"}},
		{"one name twice", sliceText("addressType: IPv4\nendpoints: []\nports: [{name: a, port: 80}, {name: a, port: 81}]"), []string{"ports[1].name"}},
	} {
		_, err := manifest.Decode([]byte(c.text), manifest.Options{})
		if err == nil && c.fields == nil {
			continue
		}
		for _, field := range c.fields {
			if err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v, want a fault of %s", c.name, err, field)
			}
		}
		if c.fields == nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
