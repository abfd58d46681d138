package command

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"nodal/agent/config"
	"nodal/node"
)

func TestTheVersionIsOneLineThatKubeadmParses(t *testing.T) {
	// kubeadm 1.36 holds all of the output, without the space around it, to this.
	parsed := regexp.MustCompile(`^\s*Kubernetes v((0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-\w.+]*)?)\s*$`)
	if got := Version(config.ErrVersion, "v0.1-3-gabcdef"); !parsed.MatchString(got) {
		t.Errorf("got %q, which kubeadm does not parse", got)
	}
}

func TestTheOwnVersionStandsInJSON(t *testing.T) {
	var got versions
	if err := json.Unmarshal([]byte(Version(config.ErrVersionJSON, "v0.1-3-gabcdef")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Kubelet != "v0.1-3-gabcdef" || got.Kubernetes != node.KubernetesVersion || got.Fault != "" {
		t.Errorf("got %+v", got)
	}
}

func TestTheRawVersionIsUpstreamsGoValue(t *testing.T) {
	got := Version(config.ErrVersionRaw, "v0.1-3-gabcdef")
	for _, want := range []string{`version.Info{Major:"1", Minor:"`, `GitVersion:"` + node.KubernetesVersion + `"`, `GitCommit:"v0.1-3-gabcdef"`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
}
