package config

import (
	"slices"
	"testing"
)

// Configurations of distributions, in our own words, start the node, and nothing of them is named but what is listed
// with a reason.
func TestConfigurationsOfDistributionsAreHonoured(t *testing.T) {
	for _, d := range []struct {
		name  string
		flags []string
		named []string // each with the reason that stands in its row of the table
	}{
		{"kubeadm", nil, nil},
		{"eks", nil, []string{
			"hairpinMode",     // the pod network's configuration decides
			"tlsCipherSuites", // Go does not let its callers choose suites of TLS 1.3
		}},
		{"gke", []string{"--max-pods=110"}, []string{
			"kernelMemcgNotification", // always so
		}},
		{"k3s", []string{"--read-only-port=0", "--runtime-cgroups=/k3s"}, nil},
		{"talos", nil, nil},
		{"kubespray", []string{"--runtime-cgroups=/system.slice/containerd.service"}, nil},
		{"openshift", nil, []string{
			"tlsCipherSuites", // Go does not let its callers choose suites of TLS 1.3
		}},
	} {
		t.Run(d.name, func(t *testing.T) {
			args := append([]string{"--kubeconfig=/kubeconfig", "--config=testdata/distributions/" + d.name + ".yaml"}, d.flags...)
			var named []string
			for _, u := range Unhonoured(load(t, args...)) {
				named = append(named, u.Setting)
			}
			if !slices.Equal(named, d.named) {
				t.Errorf("named are %q, want %q", named, d.named)
			}
		})
	}
}
