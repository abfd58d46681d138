package manifest

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// profileAnnotations checks the annotations in which AppArmor profiles were named
// before they had a field; old manifests still do.
func (c *check) profileAnnotations(at *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(c.pod.Annotations)) {
		name, ok := strings.CutPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix)
		if !ok {
			continue
		}
		if !c.hasContainer(name) {
			c.bad(at.Key(key), name, "must name a container of the pod")
		}
		c.sameAppArmor(name, c.pod.Annotations[key])
		switch profile := c.pod.Annotations[key]; {
		case profile == "",
			profile == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault,
			profile == corev1.DeprecatedAppArmorBetaProfileNameUnconfined,
			strings.HasPrefix(profile, corev1.DeprecatedAppArmorBetaProfileNamePrefix):
		default:
			c.bad(at.Key(key), profile, "must be runtime/default, unconfined or localhost/<profile>")
		}
	}
}

func (c *check) hasContainer(name string) bool {
	for container := range node.EveryContainer(&c.pod.Spec) {
		if container.Name == name {
			return true
		}
	}
	return false
}
