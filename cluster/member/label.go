package member

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kubeletapis "k8s.io/kubelet/pkg/apis"
)

// CheckLabels fails if a label is invalid, or one that no node may give itself: the cluster would refuse the node.
func CheckLabels(labels map[string]string) error {
	var wrong []error
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		for _, rule := range slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(labels[key])) {
			wrong = append(wrong, fmt.Errorf("label %s=%s: %s", key, labels[key], rule))
		}
		if !mayLabel(key) {
			wrong = append(wrong, fmt.Errorf("label %s: a node may not set it; below kubernetes.io and k8s.io use %s, or a name below %s",
				key, strings.Join(kubeletapis.KubeletLabels(), ", "), strings.Join(kubeletapis.KubeletLabelNamespaces(), " or ")))
		}
	}
	return errors.Join(wrong...)
}

// mayLabel reports whether a node may give itself a label, by the rule of upstream's kubelet and of API servers with
// NodeRestriction.
func mayLabel(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	reserved := slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d)
	})
	return !reserved || !strings.Contains(key, "/") || kubeletapis.IsKubeletLabel(key)
}
