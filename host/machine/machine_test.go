package machine

import (
	"maps"
	"os"
	"reflect"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"nodal/node/admit"
)

var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// least is a machine with only the required facts.
var least = map[string]string{
	"proc/sys/kernel/osrelease": "6.1.0-test\n",
	"proc/uptime":               "3600.42 100.00\n",
	"proc/meminfo":              "MemTotal:        2048 kB\nMemFree:  1 kB\nSwapTotal:          0 kB\n",
}

// rootOf has the files of the least machine and some more. An empty text stands for a file that is not there.
func rootOf(more map[string]string) fstest.MapFS {
	files := maps.Clone(least)
	maps.Copy(files, more)
	root := fstest.MapFS{}
	for path, text := range files {
		if text != "" {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return root
}

func TestLook(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  func(*Facts) // what differs from the least machine
	}{
		{"the least machine", nil, func(*Facts) {}},
		{"a distribution", map[string]string{"etc/os-release": "ID=x\nPRETTY_NAME=\"Some Linux 1\"\n"},
			func(f *Facts) { f.OSImage = "Some Linux 1" }},
		{"a distribution without a name", map[string]string{"etc/os-release": "ID=x\n"}, func(*Facts) {}},
		{"ids", map[string]string{
			"etc/machine-id": "m\n", "proc/sys/kernel/random/boot_id": "b\n", "sys/class/dmi/id/product_uuid": "s\n",
		}, func(f *Facts) { f.IDs = IDs{"m", "b", "s"} }},
		{"the machine's id for want of a system's", map[string]string{"etc/machine-id": "m\n"},
			func(f *Facts) { f.IDs = IDs{Machine: "m", System: "m"} }},
		{"swap", map[string]string{"proc/meminfo": "MemTotal: 1 kB\nSwapTotal: 4 kB\n"}, func(f *Facts) { f.Swaps = true }},
		{"AppArmor", map[string]string{"sys/module/apparmor/parameters/enabled": "Y\n"},
			func(f *Facts) { f.AppArmor = true }},
		{"AppArmor that is off", map[string]string{"sys/module/apparmor/parameters/enabled": "N\n"}, func(*Facts) {}},
		{"huge pages", map[string]string{
			"sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "1\n",
			"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages":    "8\n",
		}, func(f *Facts) { f.HugePages = []string{"2MB", "1GB"} }},
		{"processors that tell their heat", map[string]string{"sys/devices/system/cpu/cpu0/thermal_throttle/count": "0\n"},
			func(f *Facts) { f.Throttles = []string{"/sys/devices/system/cpu/cpu0/thermal_throttle"} }},
		{"ids that are set aside", map[string]string{"etc/subuid": "kubelet:1:2\n", "etc/subgid": "kubelet:3:4\n"},
			func(f *Facts) { f.Subuid, f.Subgid = "kubelet:1:2\n", "kubelet:3:4\n" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := Facts{Kernel: "6.1.0-test", OSImage: "unknown", Arch: runtime.GOARCH, Booted: now.Add(-time.Hour)}
			c.want(&want)
			if got, err := Look(rootOf(c.files), now); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

func TestMachineWithoutARequiredFactIsRefused(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no kernel":         {"proc/sys/kernel/osrelease": ""},
		"no start":          {"proc/uptime": ""},
		"a start in words":  {"proc/uptime": "long ago\n"},
		"no memory":         {"proc/meminfo": ""},
		"memory without":    {"proc/meminfo": "SwapTotal: 0 kB\n"},
		"memory in words":   {"proc/meminfo": "MemTotal: much kB\nSwapTotal: 0 kB\n"},
		"no word of a swap": {"proc/meminfo": "MemTotal: 1 kB\n"},
	} {
		if got, err := Look(rootOf(files), now); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

func TestResources(t *testing.T) {
	got, err := Resources(rootOf(map[string]string{
		"proc/meminfo":                "MemTotal:  2048 kB\nSwapTotal:  1024 kB\n",
		"proc/sys/kernel/pid_max":     "4194304\n",
		"proc/sys/kernel/threads-max": "1000\n",
		"sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "1\n",
		"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages":    "8\n",
		"sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages":      "0\n",
		"sys/kernel/mm/hugepages/hugepages-xkB/nr_hugepages":       "3\n",
	}))
	want := admit.Machine{
		Memory: 2 << 20, Swap: 1 << 20, PIDs: 1000,
		HugePages: []admit.HugePages{{Size: 64 << 10}, {Size: 2 << 20, Number: 8}, {Size: 1 << 30, Number: 1}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestThisMachineHasAllRequiredFacts(t *testing.T) {
	f, err := Look(os.DirFS("/"), time.Now())
	if err != nil || f.Kernel == "" || f.Booted.After(time.Now()) {
		t.Errorf("got %+v, %v", f, err)
	}
	if disk, err := DiskSize(t.TempDir()); err != nil || disk <= 0 {
		t.Errorf("a disk of %d bytes, %v", disk, err)
	}
}
