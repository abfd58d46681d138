package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// leastHistory is the least room in which a history is of use.
const leastHistory = 1 << 20

// historySize parses the room for a history, which a flag sets. Zero disables it.
func historySize(flag, text string) (int64, error) {
	size, err := resource.ParseQuantity(text)
	if err != nil || size.Value() != 0 && size.Value() < leastHistory || size.Value() > 1<<40 {
		return 0, fmt.Errorf("%s: %q is neither 0 nor between 1Mi and 1Ti; write a size such as 8Mi", flag, text)
	}
	return size.Value(), nil
}
