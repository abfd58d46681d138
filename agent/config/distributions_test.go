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
		{"gke", nil, []string{
			"kernelMemcgNotification", // always so
		}},
		{"k3s", nil, []string{
			"kubeletCgroups", // no process is moved
		}},
		{"talos", nil, []string{
			"kubeletCgroups", // no process is moved
			"systemCgroups",  // no process is moved
		}},
		{"kubespray", []string{"--runtime-cgroups=/system.slice/containerd.service"}, []string{
			"--runtime-cgroups", // no process is moved
		}},
		{"openshift", nil, []string{
			"systemCgroups",   // no process is moved
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
