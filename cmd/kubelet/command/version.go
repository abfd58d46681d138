package command

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"nodal/agent/config"
	"nodal/host/runtime/embedded"
	"nodal/node"
)

// versions are those of the agent, of the API that it implements, and of the programs inside the binary.
type versions struct {
	Kubernetes string            `json:"kubernetes"`
	Kubelet    string            `json:"kubelet"`
	Go         string            `json:"go"`
	Runtime    map[string]string `json:"runtime,omitempty"` // empty without a built-in container runtime
	Fault      string            `json:"fault,omitempty"`   // why those of the runtime are not known
}

// Version returns the version in the form that was asked for. The usual form is one line in upstream's words and nothing
// else, because kubeadm and installers refuse more.
func Version(asked config.VersionRequest, agent string) string {
	switch asked {
	case config.ErrVersionRaw:
		return fmt.Sprintf("%#v", info(agent))
	case config.ErrVersionJSON:
		text, err := json.MarshalIndent(versionsOf(agent), "", "  ")
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	return "Kubernetes " + node.KubernetesVersion
}

// info returns what upstream prints as a Go value. The commit is the agent's own.
func info(agent string) version.Info {
	major, minor, _ := strings.Cut(node.KubernetesMinor, ".")
	return version.Info{
		Major: major, Minor: minor, GitVersion: node.KubernetesVersion, GitCommit: agent,
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

func versionsOf(agent string) versions {
	v := versions{Kubernetes: node.KubernetesVersion, Kubelet: agent, Go: runtime.Version()}
	_, index, ok := embedded.Bundle()
	if !ok {
		return v
	}
	var bundle struct{ Versions map[string]string }
	if err := json.Unmarshal(index, &bundle); err != nil {
		v.Fault = err.Error()
	}
	v.Runtime = bundle.Versions
	return v
}
