package command

import (
	"encoding/json"
	"strings"

	"nodal/host/runtime/embedded"
)

// Version describes the agent's version and those of the programs inside the binary.
func Version(agent string) string {
	text := "nodal kubelet " + agent
	_, index, ok := embedded.Bundle()
	if !ok {
		return text + " (without a built-in container runtime)"
	}
	var bundle struct{ Versions map[string]string }
	if err := json.Unmarshal(index, &bundle); err != nil {
		return text + " (built-in container runtime: " + err.Error() + ")"
	}
	var brought []string
	for _, name := range []string{"containerd", "runc", "cni"} {
		brought = append(brought, name+" "+bundle.Versions[name])
	}
	return text + " with " + strings.Join(brought, ", ")
}
