package admit

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Reservation is what pods do not get of a machine, and the setting that says so.
type Reservation struct {
	Setting string
	List    corev1.ResourceList
}

// Left is what remains of a machine for pods. More cannot be reserved than there is:
// then every pod would be refused, and nobody would know why.
func Left(capacity corev1.ResourceList, reservations ...Reservation) (corev1.ResourceList, error) {
	left := capacity.DeepCopy()
	for name, has := range capacity {
		var reserved resource.Quantity
		var settings []string
		for _, r := range reservations {
			if quantity, ok := r.List[name]; ok && !quantity.IsZero() {
				reserved.Add(quantity)
				settings = append(settings, fmt.Sprintf("%s[%s]", r.Setting, name))
			}
		}
		if reserved.Cmp(has) > 0 {
			return nil, fmt.Errorf("%s: %s of %s is more than the %s that this machine has",
				strings.Join(settings, " + "), reserved.String(), name, has.String())
		}
		rest := has.DeepCopy()
		rest.Sub(reserved)
		left[name] = rest
	}
	return left, nil
}
