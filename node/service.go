package node

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ServiceVariables returns the environment by which containers find services, in Kubernetes' form and in that of Docker's
// links.
func ServiceVariables(services []*corev1.Service) map[string]string {
	found := map[string]string{}
	byName := map[string]*corev1.Service{}
	for _, s := range services {
		if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone && len(s.Spec.Ports) > 0 {
			byName[s.Name] = s
		}
	}
	for name, s := range byName {
		describeService(found, strings.ToUpper(strings.ReplaceAll(name, "-", "_")), s)
	}
	return found
}

// describeService adds the variables of one service.
func describeService(found map[string]string, name string, s *corev1.Service) {
	ip := s.Spec.ClusterIP
	found[name+"_SERVICE_HOST"] = ip
	found[name+"_SERVICE_PORT"] = strconv.Itoa(int(s.Spec.Ports[0].Port))
	for i, p := range s.Spec.Ports {
		port, protocol := strconv.Itoa(int(p.Port)), strings.ToLower(string(p.Protocol))
		if p.Name != "" {
			found[name+"_SERVICE_PORT_"+strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_"))] = port
		}
		url := protocol + "://" + inURL(ip) + ":" + port
		if i == 0 {
			found[name+"_PORT"] = url
		}
		link := fmt.Sprintf("%s_PORT_%s_%s", name, port, strings.ToUpper(protocol))
		found[link] = url
		found[link+"_PROTO"], found[link+"_PORT"], found[link+"_ADDR"] = protocol, port, ip
	}
}

// inURL writes an address as it stands before a port.
func inURL(ip string) string {
	if strings.Contains(ip, ":") {
		return "[" + ip + "]"
	}
	return ip
}
