package admit

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// Listener is a TCP port on which the agent itself serves.
type Listener struct {
	Address netip.Addr // unspecified stands for every address of the host
	Port    int32
	Serves  string // "its API"
}

// Advice returns warnings about a valid pod that this node takes although it will not run
// as its author expects. Kubernetes accepts such pods as well.
func (n Node) Advice(pod *corev1.Pod) []string {
	var warnings []string
	warn := func(at *field.Path, text string) { warnings = append(warnings, at.String()+": "+text) }
	spec := field.NewPath("spec")
	each := func(list string, containers []corev1.Container) {
		for i := range containers {
			n.advise(&containers[i], spec.Child(list).Index(i), warn)
		}
	}
	each("initContainers", pod.Spec.InitContainers)
	each("containers", pod.Spec.Containers)
	for i, e := range pod.Spec.EphemeralContainers {
		adviseImage(e.Image, spec.Child("ephemeralContainers").Index(i).Child("image"), warn)
	}
	for i, v := range pod.Spec.Volumes {
		if v.Image != nil {
			adviseImage(v.Image.Reference, spec.Child("volumes").Index(i).Child("image", "reference"), warn)
		}
	}
	return warnings
}

func (n Node) advise(c *corev1.Container, at *field.Path, warn func(*field.Path, string)) {
	adviseImage(c.Image, at.Child("image"), warn)
	for i, port := range c.Ports {
		if own := n.listener(port); own != nil {
			warn(at.Child("ports").Index(i).Child("hostPort"),
				fmt.Sprintf("on port %d this node serves %s; take another port, or one gets the connections of the other", port.HostPort, own.Serves))
		}
	}
	adviseFractions(c.Resources.Limits, at.Child("resources", "limits"), warn)
	adviseFractions(c.Resources.Requests, at.Child("resources", "requests"), warn)
}

// listener returns the agent's own port that a container wants too, or nil.
func (n Node) listener(port corev1.ContainerPort) *Listener {
	if port.HostPort == 0 || port.Protocol != corev1.ProtocolTCP {
		return nil
	}
	wanted, err := netip.ParseAddr(port.HostIP)
	anywhere := err != nil || wanted.IsUnspecified()
	for i, own := range n.Listeners {
		if own.Port == port.HostPort && (anywhere || own.Address.IsUnspecified() || own.Address == wanted) {
			return &n.Listeners[i]
		}
	}
	return nil
}

// adviseImage warns of a reference that no runtime can read: Kubernetes finds that out
// when it starts the container.
func adviseImage(ref string, at *field.Path, warn func(*field.Path, string)) {
	if _, err := node.NormalReference(ref); err != nil {
		why := strings.TrimSuffix(err.Error(), ": "+errors.Unwrap(err).Error())
		warn(at, why+"; the container will wait with "+node.InvalidImageName)
	}
}

// adviseFractions warns of thousandths of a byte: an author who writes 64m means 64M.
func adviseFractions(list corev1.ResourceList, at *field.Path, warn func(*field.Path, string)) {
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		quantity, given := list[name]
		if !given || quantity.MilliValue()%1000 == 0 {
			continue
		}
		rule := fmt.Sprintf("%s is a fraction of a byte", quantity.String())
		if number, ok := strings.CutSuffix(quantity.String(), "m"); ok {
			rule += fmt.Sprintf("; write %sM or %sMi for megabytes", number, number)
		}
		warn(at.Key(string(name)), rule)
	}
}

// Lacking names in words the resources of which too little is left for a pod beside others; it is
// "" if there is room.
func (n Node) Lacking(pod *corev1.Pod, others []*corev1.Pod) string {
	var all []string
	for _, s := range n.shortages(pod, others) {
		all = append(all, s.String())
	}
	return strings.Join(all, "; ")
}

// String words a shortage in the units that manifests are written in.
func (s shortage) String() string {
	show := func(n int64) string { return shown(s.name, n) }
	if s.wanted > s.capacity {
		return fmt.Sprintf("it requests %s of %s, and this node has %s for pods", show(s.wanted), s.name, show(s.capacity))
	}
	return fmt.Sprintf("it requests %s of %s, and other pods have %s of the %s of this node",
		show(s.wanted), s.name, show(s.used), show(s.capacity))
}

// shown writes an amount as a manifest would: 1500m CPUs, 7.6Gi of memory.
func shown(name corev1.ResourceName, n int64) string {
	switch {
	case name == corev1.ResourceCPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage && !node.IsHugePages(name):
		return fmt.Sprint(n)
	}
	for _, unit := range []struct {
		suffix string
		size   int64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if n >= unit.size {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(unit.size)), ".0") + unit.suffix
		}
	}
	return fmt.Sprint(n)
}
