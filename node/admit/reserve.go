package admit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Reservation is a part of a machine that pods do not get, with the setting that reserves it.
type Reservation struct {
	Setting string
	List    corev1.ResourceList
}

// Left returns what remains of a machine for pods. A resource of which more is reserved than there
// is remains at zero, and the error names it.
func Left(capacity corev1.ResourceList, reservations ...Reservation) (corev1.ResourceList, error) {
	left := corev1.ResourceList{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(capacity)) {
		has := capacity[name]
		reserved, settings := sum(name, reservations)
		rest := has.DeepCopy()
		rest.Sub(reserved)
		if rest.Sign() < 0 {
			errs = append(errs, fmt.Errorf("%s: %s of %s exceeds the %s of this machine",
				settings, reserved.String(), name, has.String()))
			rest = *resource.NewQuantity(0, has.Format)
		}
		left[name] = rest
	}
	return left, errors.Join(errs...)
}

// sum adds up what is reserved of a resource, and names the settings that reserve it.
func sum(name corev1.ResourceName, reservations []Reservation) (resource.Quantity, string) {
	var reserved resource.Quantity
	var settings []string
	for _, r := range reservations {
		if quantity, ok := r.List[name]; ok && !quantity.IsZero() {
			reserved.Add(quantity)
			settings = append(settings, fmt.Sprintf("%s[%s]", r.Setting, name))
		}
	}
	return reserved, strings.Join(settings, " + ")
}
