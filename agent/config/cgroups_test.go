package config

import (
	"slices"
	"strings"
	"testing"
)

func TestMemoryQoSIsResolved(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, file string
		keep       bool
		throttle   float64
		want       string // the fault; empty if the file is good
	}{
		{"by default nothing is kept or slowed down", "maxPods: 5", false, 0, ""},
		{"each by itself", "memoryReservationPolicy: TieredReservation", true, 0, ""},
		{"and the other", "memoryThrottlingFactor: 1.0", false, 1, ""},
		{"a factor of nothing", "memoryThrottlingFactor: 0", false, 0, "memoryThrottlingFactor"},
		{"a factor above all", "memoryThrottlingFactor: 1.1", false, 0, "memoryThrottlingFactor"},
		{"a policy that nobody knows", "memoryReservationPolicy: Most", false, 0, "memoryReservationPolicy"},
		{"a policy without its gate", "featureGates: {MemoryQoS: false}\nmemoryReservationPolicy: TieredReservation", false, 0,
			"memoryReservationPolicy"},
		{"a factor without its gate", "featureGates: {MemoryQoS: false}\nmemoryThrottlingFactor: 0.8", false, 0, "memoryThrottlingFactor"},
		{"the former default without its gate", "featureGates: {MemoryQoS: false}\nmemoryThrottlingFactor: 0.9", false, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Load([]string{"--config", write(t, dir, "kubelet.yaml", c.file)})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want an error of %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := got.Cgroups; got.KeepMemory != c.keep || got.Throttle != c.throttle {
				t.Errorf("got keep %t and factor %v, want %t and %v", got.KeepMemory, got.Throttle, c.keep, c.throttle)
			}
		})
	}
}

func TestAFactorWithoutItsGateIsNamed(t *testing.T) {
	file := write(t, t.TempDir(), "kubelet.yaml", "featureGates: {MemoryQoS: false}\nmemoryThrottlingFactor: 0.9")
	got := Unhonoured(load(t, "--config", file))
	if !slices.ContainsFunc(got, func(u Unmet) bool { return u.Setting == "memoryThrottlingFactor" && u.Means != "" }) {
		t.Errorf("got %v, want the factor named", got)
	}
}

func TestGatesThatTheNodeFollowsDecide(t *testing.T) {
	for _, c := range []struct {
		gates         string
		quota, memory bool
	}{
		{"", false, true},
		{"--feature-gates=DisableCPUQuotaWithExclusiveCPUs=false,MemoryQoS=false", true, false},
		{"--feature-gates=DisableCPUQuotaWithExclusiveCPUs=true,MemoryQoS=true", false, true},
	} {
		args := []string{}
		if c.gates != "" {
			args = append(args, c.gates)
		}
		cfg := load(t, args...)
		if cfg.Cgroups.OwnQuota != c.quota || cfg.Cgroups.MemoryQoS != c.memory {
			t.Errorf("%q: got %+v", c.gates, cfg.Cgroups)
		}
		for _, g := range cfg.Gates() {
			if (g.Name == "MemoryQoS" || g.Name == "DisableCPUQuotaWithExclusiveCPUs") && (g.Unmet || g.Means != "") {
				t.Errorf("%q: %+v, want a gate that is followed", c.gates, g)
			}
		}
	}
}

func TestCgroupsOfProgramsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string // the fault; empty if they are good
	}{
		{"the kubelet's", []string{"--kubelet-cgroups=/podruntime/kubelet"}, ""},
		{"all three", []string{"--kubelet-cgroups=/a", "--system-cgroups=/system", "--cgroup-root=/", "--runtime-cgroups=/b"}, ""},
		{"the system's without a root", []string{"--system-cgroups=/system"}, "needs cgroupRoot"},
		{"the system's at the top", []string{"--system-cgroups=/", "--cgroup-root=/"}, "must be below the top"},
		{"the kubelet's among pods", []string{"--kubelet-cgroups=/kubepods/burstable"}, "must not be among the cgroups of pods"},
		{"the system's among pods", []string{"--system-cgroups=/a/kubepods.slice", "--cgroup-root=/a"}, "must not be among"},
	} {
		_, err := Load(c.args)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestMemoryOfBetterClassesIsReservedByPercent(t *testing.T) {
	gate := "--feature-gates=QOSReserved=true"
	for _, c := range []struct {
		args []string
		want int64
	}{
		{nil, 0}, {[]string{gate}, 0}, {[]string{"--qos-reserved=memory=50%"}, 0},
		{[]string{gate, "--qos-reserved=memory=50%"}, 50}, {[]string{gate, "--qos-reserved=memory=100%"}, 100},
	} {
		if got := load(t, c.args...).Cgroups.Reserve; got != c.want {
			t.Errorf("%q: got %d percent, want %d", c.args, got, c.want)
		}
	}
	for _, wrong := range []string{"memory=50", "memory=101%", "memory=-1%", "cpu=50%", "memory=half%"} {
		if _, err := Load([]string{gate, "--qos-reserved=" + wrong}); err == nil || !strings.Contains(err.Error(), "qosReserved[") {
			t.Errorf("%s: got %v, want an error that names the setting", wrong, err)
		}
	}
}
