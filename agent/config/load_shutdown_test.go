package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

func TestPeriodsOfAShutdownBecomePhases(t *testing.T) {
	for _, test := range []struct {
		name, file string
		want       []node.ShutdownPhase
	}{
		{"none by default", "", nil},
		{"critical pods have a part of the whole", "shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s",
			[]node.ShutdownPhase{{Priority: 0, Period: 20 * time.Second}, {Priority: 2_000_000_000, Period: 10 * time.Second}}},
		{"the whole is for all", "shutdownGracePeriod: 30s",
			[]node.ShutdownPhase{{Priority: 0, Period: 30 * time.Second}, {Priority: 2_000_000_000}}},
		{"groups are sorted", "shutdownGracePeriodByPodPriority: [{priority: 1000, shutdownGracePeriodSeconds: 5}, {priority: -7, shutdownGracePeriodSeconds: 0}]",
			[]node.ShutdownPhase{{Priority: -7}, {Priority: 1000, Period: 5 * time.Second}}},
		{"without the gate of groups the two periods count",
			"featureGates: {GracefulNodeShutdownBasedOnPodPriority: false}\nshutdownGracePeriod: 3s",
			[]node.ShutdownPhase{{Priority: 0, Period: 3 * time.Second}, {Priority: 2_000_000_000}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := load(t, "--config", write(t, t.TempDir(), "kubelet.yaml", test.file+"\n")).Shutdown.Phases
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestPeriodsOfAShutdownAreChecked(t *testing.T) {
	for _, test := range []struct{ file, says string }{
		{"shutdownGracePeriod: 100ms", "must be 0 or at least 1s"},
		{"shutdownGracePeriod: -1s", "must be 0 or at least 1s"},
		{"shutdownGracePeriod: 3s\nshutdownGracePeriodCriticalPods: 4s", "must not exceed shutdownGracePeriod"},
		{"shutdownGracePeriod: 3s\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 1}]",
			"must not be given together with shutdownGracePeriod"},
		{"shutdownGracePeriod: 3s\nfeatureGates: {GracefulNodeShutdown: false}", "needs the feature gate GracefulNodeShutdown"},
		{"shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 1}]\nfeatureGates: {GracefulNodeShutdownBasedOnPodPriority: false}",
			"needs the feature gate GracefulNodeShutdownBasedOnPodPriority"},
		{"shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: -1}]", "must be at least 0"},
		{"shutdownGracePeriodByPodPriority: [{priority: 1}, {priority: 1}]", "Duplicate value"},
	} {
		_, err := Load([]string{"--config", write(t, t.TempDir(), "kubelet.yaml", test.file+"\n")})
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: got %v, want an error that says %q", test.file, err, test.says)
		}
	}
	if _, err := Load([]string{"--shutdown-on-sigterm"}); err == nil || !strings.Contains(err.Error(), "needs shutdownGracePeriod") {
		t.Errorf("--shutdown-on-sigterm without a period: %v", err)
	}
}
