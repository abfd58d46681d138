package script

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// addHooks gives containers hooks. The list holds kinds; KIND@NAME gives the hook to one container,
// KIND to all.
func addHooks(spec *corev1.PodSpec, list string) error {
	for word := range strings.SplitSeq(list, ",") {
		kind, only, _ := strings.Cut(word, "@")
		hook := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"do"}}}
		for c := range node.Containers(spec) {
			if word == "" || only != "" && only != c.Name {
				continue
			}
			if c.Lifecycle == nil {
				c.Lifecycle = &corev1.Lifecycle{}
			}
			switch node.HookKind(kind) {
			case node.PostStart:
				c.Lifecycle.PostStart = hook
			case node.PreStop:
				c.Lifecycle.PreStop = hook
			default:
				return errUsage
			}
		}
	}
	return nil
}
