package cgroups

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/agent/config"
	"nodal/host/cgroup"
	"nodal/node/limit"
)

func TestSettingsThatTheMachineCannotKeepAreRefused(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings config.Cgroups
		version  int
		swaps    bool
		want     string // the setting that is named; empty if it is taken
	}{
		{"no demands", config.Cgroups{}, 1, true, ""},
		{"no swap on a machine that swaps", config.Cgroups{FailOnSwap: true}, 2, true, "failSwapOn"},
		{"no swap on a machine without", config.Cgroups{FailOnSwap: true}, 2, false, ""},
		{"version 2 on version 1", config.Cgroups{FailOnV1: true}, 1, false, "failCgroupV1"},
		{"version 2 on version 2", config.Cgroups{FailOnV1: true}, 2, false, ""},
		{"limited swap on version 1", config.Cgroups{LimitedSwap: true}, 1, true, "memorySwap"},
		{"limited swap on version 2", config.Cgroups{LimitedSwap: true}, 2, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := check(c.settings, c.version, c.swaps)
			if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want an error of %q", err, c.want)
			}
		})
	}
}

func TestMemoryIsKeptAndSlowedDownOnVersion2Alone(t *testing.T) {
	asked := config.Cgroups{KeepMemory: true, Throttle: 0.9}
	if got := Rules(asked, 1).Memory; got != (limit.Memory{}) {
		t.Errorf("version 1: got %+v, want nothing", got)
	}
	if got := Rules(asked, 2).Memory; !got.Keep || got.Throttle != 0.9 || got.Page < 4096 {
		t.Errorf("version 2: got %+v, want what was asked for", got)
	}
	for _, c := range []struct {
		name     string
		settings config.Cgroups
		version  int
		kernel   string
		want     string // the settings that are named
	}{
		{"nothing asked for", config.Cgroups{}, 1, "5.4.0", ""},
		{"on version 1", asked, 1, "6.1.0-9-amd64", "memoryReservationPolicy memoryThrottlingFactor"},
		{"on version 2", asked, 2, "6.1.0-9-amd64", ""},
		{"on an old kernel", asked, 2, "5.8.13", "memoryThrottlingFactor"},
		{"on the first good one", asked, 2, "5.9.0", ""},
		{"on one that does not say", asked, 2, "", ""},
	} {
		var names []string
		for _, w := range Unkept(c.settings, c.version, c.kernel) {
			if names = append(names, w.Setting); w.Problem == "" || w.Remedy == "" {
				t.Errorf("%s: %+v lacks its consequence or its remedy", c.name, w)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestProcessesOfAContainerEndTogetherOnVersion2Alone(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		version int
		single  *bool
		want    bool
	}{{2, nil, true}, {2, &no, true}, {2, &yes, false}, {1, nil, false}, {1, &no, false}} {
		got := OOMGroup(config.Cgroups{OOMSingle: c.single}, cgroup.Mounts{Version: c.version})
		if got != c.want {
			t.Errorf("version %d, single %v: got %t, want %t", c.version, c.single, got, c.want)
		}
	}
}

func TestCgroupsOfPodsOpenOnceTheRuntimeAnswers(t *testing.T) {
	asked := 0
	pods := NewPods(Config{
		Driver: func(context.Context) (string, error) {
			asked++
			return "", errors.New("away")
		},
		AllPods: func() limit.Limits { return limit.Limits{} },
		Memory:  func() int64 { return 0 },
		Running: func() []*corev1.Pod { return nil },
		Log:     slog.New(slog.DiscardHandler),
	})
	if parent, path, root := pods.Parent(nil), pods.Path(nil), pods.Root(); parent+path+root != "" || asked > 0 {
		t.Errorf("before the first use: got %q, %q, %q after %d questions, want nothing", parent, path, root, asked)
	}
	for range 2 { // a failure is not remembered
		if err := pods.TearDown(t.Context(), "u"); err == nil {
			t.Error("a cgroup was removed without a driver")
		}
	}
	if asked != 2 {
		t.Errorf("the runtime was asked %d times, want twice", asked)
	}
}

func TestCgroupThatTheRuntimeSharesWithTheAgentIsFoundOnce(t *testing.T) {
	mounts, err := cgroup.FindMounts()
	if err != nil {
		t.Skip("this machine has no cgroups")
	}
	found := System{Mounts: mounts, Daemon: os.Getpid}.Find()
	if _, twice := found["runtime"]; twice {
		t.Errorf("got %v, want the runtime left out", found)
	}
}
