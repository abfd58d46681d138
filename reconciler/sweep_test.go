package reconciler

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// remains of pods that are swept; those that are stuck stay, and with a fault nothing can be found.
type remains struct {
	left  []types.UID
	stuck []types.UID
	fault error
}

func (r *remains) sweep(keep func(types.UID) bool) error {
	stay := node.RemainsError{}
	r.left = slices.DeleteFunc(r.left, func(uid types.UID) bool {
		switch {
		case r.fault != nil || keep(uid):
			return false
		case slices.Contains(r.stuck, uid):
			stay[uid] = errors.New("busy")
			return false
		}
		return true
	})
	return cmp.Or(r.fault, stay.Err())
}

type (
	sweptCgroups struct {
		Cgroups
		of *remains
	}
	sweptLogs struct {
		Logs
		of *remains
	}
	sweptVolumes struct {
		Volumes
		of *remains
	}
)

func (s sweptCgroups) Sweep(_ context.Context, keep func(types.UID) bool) error {
	return s.of.sweep(keep)
}
func (s sweptLogs) Sweep(_ context.Context, keep func(types.UID) bool) error { return s.of.sweep(keep) }
func (s sweptVolumes) Sweep(_ context.Context, keep func(types.UID) bool) error {
	return s.of.sweep(keep)
}

// The directory of a pod shows that its cgroup and logs are this node's, so it has to outlive them.
func TestASweepKeepsTheDirectoryOfAPodOfWhichSomethingStays(t *testing.T) {
	for _, c := range []struct {
		name                string
		cgroups, logs       remains
		wantLogs, wantHomes []types.UID
	}{
		{name: "all goes"},
		{
			name: "a cgroup stays", cgroups: remains{stuck: []types.UID{"b"}},
			wantLogs: []types.UID{"b"}, wantHomes: []types.UID{"b"},
		},
		{name: "logs stay", logs: remains{stuck: []types.UID{"a"}}, wantLogs: []types.UID{"a"}, wantHomes: []types.UID{"a"}},
		{
			name: "cgroups cannot be listed", cgroups: remains{fault: errors.New("the disk")},
			wantLogs: []types.UID{"a", "b"}, wantHomes: []types.UID{"a", "b"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			homes := remains{left: []types.UID{"a", "b", "known"}}
			c.cgroups.left, c.logs.left = slices.Clone(homes.left), slices.Clone(homes.left)
			act := Act{Cgroups: sweptCgroups{nil, &c.cgroups}, Logs: sweptLogs{nil, &c.logs}, Volumes: sweptVolumes{nil, &homes}}
			sweep := act.NewSweep(func(uid types.UID) bool { return uid == "known" })
			failed := false
			for more := true; more; {
				var err error
				more, err = sweep.Step(t.Context())
				failed = failed || err != nil
			}
			wantFailed := c.cgroups.stuck != nil || c.logs.stuck != nil || c.cgroups.fault != nil
			if failed != wantFailed {
				t.Errorf("it failed: %t, want %t", failed, wantFailed)
			}
			if want := append(c.wantLogs, "known"); !slices.Equal(c.logs.left, want) {
				t.Errorf("logs of %q are left, want of %q", c.logs.left, want)
			}
			if want := append(c.wantHomes, "known"); !slices.Equal(homes.left, want) {
				t.Errorf("directories of %q are left, want of %q", homes.left, want)
			}
		})
	}
}
