package config

import (
	"slices"
	"testing"
)

// Configurations of distributions and their command lines, in our own words, start the node, and nothing of them is
// named but what is listed with a reason.
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
		{"k3s", []string{
			"--cert-dir=/var/lib/kubelet/pki", "--cloud-provider=external",
			"--containerd=/run/k3s/containerd/containerd.sock", "--hostname-override=node-1",
			"--image-credential-provider-bin-dir=/var/lib/rancher/credentialprovider/bin",
			"--image-credential-provider-config=/var/lib/rancher/credentialprovider/config.yaml",
			"--node-ip=192.0.2.7,2001:db8::7", "--node-labels=", "--read-only-port=0", "--root-dir=/var/lib/kubelet", "--runtime-cgroups=/k3s",
		}, []string{
			"--containerd", // for cAdvisor, which is not there
		}},
		{"talos", []string{
			"--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubeconfig", "--cert-dir=/var/lib/kubelet/pki", "--cloud-provider=external",
			"--hostname-override=node-1", "--image-credential-provider-bin-dir=/usr/local/lib/kubelet/credentialproviders",
			"--image-credential-provider-config=/etc/kubernetes/kubelet-credential-provider-config.yaml", "--node-ip=192.0.2.7",
		}, []string{
			"featureGates[LocalStorageCapacityIsolationFSQuotaMonitoring]", // files are counted without quotas
		}},
		{"kubespray", []string{"--runtime-cgroups=/system.slice/containerd.service"}, nil},
		{"openshift", nil, []string{
			"tlsCipherSuites", // Go does not let its callers choose suites of TLS 1.3
		}},
	} {
		t.Run(d.name, func(t *testing.T) {
			files := "--config=testdata/distributions/" + d.name + ".yaml"
			if d.name == "k3s" { // it has drop-ins alone
				files = "--config-dir=testdata/distributions/k3s.d"
			}
			args := append([]string{"--kubeconfig=/kubeconfig", files}, d.flags...)
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
