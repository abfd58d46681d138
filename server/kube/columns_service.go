package kube

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lacking stands in a cell for what a service does not have.
const lacking = "<none>"

var serviceColumns = columns{
	heads([]string{"Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"}, "Selector"),
	typed(func(s *corev1.Service) []any {
		return []any{
			s.Name, string(s.Spec.Type), cmp.Or(s.Spec.ClusterIP, lacking), outsideOf(s), servicePorts(s.Spec.Ports), ageOf(s.CreationTimestamp),
			metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: s.Spec.Selector}),
		}
	}),
}

// outsideOf returns where a service is found from outside of the node.
func outsideOf(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		return "<pending>" // the node has none
	}
	return lacking
}

func servicePorts(ports []corev1.ServicePort) string {
	var all []string
	for _, p := range ports {
		text := strconv.Itoa(int(p.Port))
		if p.NodePort > 0 {
			text += ":" + strconv.Itoa(int(p.NodePort))
		}
		all = append(all, text+"/"+string(p.Protocol))
	}
	return cmp.Or(strings.Join(all, ","), lacking)
}

var endpointSliceColumns = columns{
	heads([]string{"Name", "AddressType", "Ports", "Endpoints", "Age"}),
	typed(func(s *discoveryv1.EndpointSlice) []any {
		var ports, addresses []string
		for _, p := range s.Ports {
			number := "*"
			if p.Port != nil {
				number = strconv.Itoa(int(*p.Port))
			}
			ports = append(ports, number)
		}
		for _, e := range s.Endpoints {
			addresses = append(addresses, e.Addresses...)
		}
		return []any{s.Name, string(s.AddressType), firstOf(ports), firstOf(addresses), ageOf(s.CreationTimestamp)}
	}),
}

// firstOf joins a few words, and counts the others.
func firstOf(words []string) string {
	const most = 3
	if len(words) <= most {
		return cmp.Or(strings.Join(words, ","), "<unset>")
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(words[:most], ","), len(words)-most)
}
