package config

import (
	"path/filepath"
	"testing"
)

func TestTunablesFollowFlagsAndMembership(t *testing.T) {
	cluster := "--kubeconfig=" + filepath.Join(t.TempDir(), "kubelet.conf")
	tests := []struct {
		name string
		args []string
		want Tunables
	}{
		{"a node that stands alone leaves them", nil, TunablesLeave},
		{"one that is told to sets them", []string{"--kernel-tunables=set"}, TunablesSet},
		{"a node of a cluster sets them", []string{cluster}, TunablesSet},
		{"one that is told to leaves them", []string{cluster, "--kernel-tunables=leave"}, TunablesLeave},
		{"a protected one checks them", []string{"--protect-kernel-defaults"}, TunablesCheck},
		{"so it does in a cluster", []string{cluster, "--protect-kernel-defaults"}, TunablesCheck},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := load(t, tt.args...).Node.Tunables; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
