package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// leastHistory is the least room in which a history of usage is of use.
const leastHistory = 1 << 20

// usageHistory parses the room for the history of usage. Zero disables it.
func usageHistory(text string) (int64, error) {
	size, err := resource.ParseQuantity(text)
	if err != nil || size.Value() != 0 && size.Value() < leastHistory || size.Value() > 1<<40 {
		return 0, fmt.Errorf("--usage-history-size: %q is neither 0 nor between 1Mi and 1Ti; write a size such as 8Mi", text)
	}
	return size.Value(), nil
}
