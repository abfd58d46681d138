package cri

import "testing"

func TestARuntimeSaysWhetherItIgnoresCDI(t *testing.T) {
	for _, c := range []struct {
		name, config string
		ignores      bool
	}{
		{"containerd 1.6", `{"containerd": {"snapshotter": "overlayfs"}, "sandboxImage": "pause"}`, true},
		{"1.7 as it is installed", `{"containerd": {}, "enableCDI": false, "cdiSpecDirs": ["/etc/cdi", "/var/run/cdi"]}`, true},
		{"1.7 with enable_cdi", `{"containerd": {}, "enableCDI": true, "cdiSpecDirs": ["/etc/cdi"]}`, false},
		{"2 with a switch that is not set", `{"containerd": {}, "enableCDI": null, "cdiSpecDirs": ["/etc/cdi"]}`, false},
		{"2 without the switch", `{"containerd": {}, "cdiSpecDirs": ["/etc/cdi", "/var/run/cdi"]}`, false},
		{"a runtime whose configuration is TOML", "[crio]\nroot = \"/var\"", false},
		{"a runtime that shows none", "", false},
	} {
		if got := parseConfiguration(c.config).ignoresCDI(); got != c.ignores {
			t.Errorf("%s ignores CDI: %t, want %t", c.name, got, c.ignores)
		}
	}
}
