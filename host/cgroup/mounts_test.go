package cgroup

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
)

const (
	top     = "24 1 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
	joined  = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
	memory  = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	pids    = "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
	freezer = "37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n"
	named   = "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
	beside  = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
	unified = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
)

// table reads a mount table.
func table(t *testing.T, text string) []*mountinfo.Info {
	t.Helper()
	mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return mounts
}

func TestMounts(t *testing.T) {
	controllersIn := map[string]string{"/sys/fs/cgroup": "cpuset cpu io memory pids\n", "/sys/fs/cgroup/unified": "\n"}
	read := func(path string) ([]byte, error) {
		text, ok := controllersIn[strings.TrimSuffix(path, "/cgroup.controllers")]
		if !ok {
			return nil, errors.New("not there")
		}
		return []byte(text), nil
	}
	for _, c := range []struct {
		name, table string
		want        Mounts
		missing     []string
	}{
		{"version 1", top + joined + memory + pids + freezer + named, Mounts{1, []tree{
			{"/sys/fs/cgroup/cpu,cpuacct", []string{"cpu"}, []string{"cpuacct"}}, {dir: "/sys/fs/cgroup/memory", controllers: []string{"memory"}},
			{dir: "/sys/fs/cgroup/pids", controllers: []string{"pids"}}, {dir: "/sys/fs/cgroup/freezer"}, {dir: "/sys/fs/cgroup/systemd"},
		}}, nil},
		{"version 2 beside it counts for nothing", memory + beside, Mounts{1, []tree{
			{dir: "/sys/fs/cgroup/memory", controllers: []string{"memory"}}, {dir: "/sys/fs/cgroup/unified"},
		}}, []string{"cpu", "pids"}},
		{"version 2", unified, Mounts{2, []tree{{dir: "/sys/fs/cgroup", controllers: []string{"cpu", "memory", "pids"}, counts: []string{"io"}}}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := chooseMounts(table(t, c.table), read)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
			if missing := got.Missing(); !reflect.DeepEqual(missing, c.missing) {
				t.Errorf("missing %q, want %q", missing, c.missing)
			}
		})
	}
	if got, err := chooseMounts(table(t, top+named), read); err == nil {
		t.Errorf("a machine without cgroups has %+v", got)
	}
}

func TestTheCgroupOfAProcess(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int
		table   string
		want    string
	}{
		{"one of version 2", 2, "0::/system.slice/kubelet.service\n", "/system.slice/kubelet.service"},
		{"the same everywhere", 1, "5:memory:/a/b\n4:cpu,cpuacct:/a/b\n0::/c\n", "/a/b"},
		{"one for memory alone", 1, "5:memory:/a/b\n4:cpu,cpuacct:/\n", ""},
		{"that of the machine", 2, "0::/\n", ""},
		{"none", 1, "", ""},
	} {
		if got := (Mounts{Version: c.version}).in(c.table); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
