package hardening

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/HARDENING.md")

// Each reason is one that several settings share.
const (
	filter = "it is a filter of system calls, which every container inherits: `seccompProfile: Unconfined` would be a lie"
	mounts = "it gives the unit mounts of its own: what the agent mounts for pods would not be seen outside, and be gone " +
		"for the next agent, while pods run on"
	caps = "containers get no more than the unit has: `privileged` and `capabilities.add` would miss it"
)

// missing holds the settings that systemd asks for and the unit does not have, with the reason.
var missing = map[string]string{
	"CapabilityBoundingSet":    caps,
	"Delegate":                 "containerd and its shims divide the unit's cgroup",
	"DeviceAllow":              "pods may ask for any device of the machine, and containerd makes their nodes",
	"IPAddressDeny":            "the agent serves the network, and pulls images from it",
	"LockPersonality":          filter + "; 32-bit programs and debuggers change it",
	"MemoryDenyWriteExecute":   filter + "; just-in-time compilers need such memory",
	"NoNewPrivileges":          "containers inherit it: `sudo` in a pod would fail, whatever `allowPrivilegeEscalation` says",
	"PrivateDevices":           mounts,
	"PrivateMounts":            mounts,
	"PrivateNetwork":           "the agent serves the machine's network",
	"PrivateTmp":               mounts,
	"PrivateUsers":             "the owners of volumes and images are the machine's users",
	"ProcSubset":               mounts,
	"ProtectClock":             filter + ", and a pod with CAP_SYS_TIME may be the machine's time service",
	"ProtectControlGroups":     mounts + "; and the agent makes the pods' cgroups",
	"ProtectHome":              mounts + "; and a pod may have a path below /home",
	"ProtectHostname":          filter + "; the runtime names each sandbox",
	"ProtectKernelLogs":        mounts + "; and the agent and privileged pods watch them",
	"ProtectKernelModules":     mounts + "; and pods of storage and network load modules",
	"ProtectKernelTunables":    mounts + "; and runc sets the pods' sysctls",
	"ProtectProc":              mounts,
	"ProtectSystem":            mounts,
	"RestrictAddressFamilies":  filter,
	"RestrictNamespaces":       filter + "; a container is made of namespaces",
	"RestrictRealtime":         filter,
	"RestrictSUIDSGID":         filter + "; images have such files",
	"RootDirectory=/RootImage": "the agent manages the machine's own files",
	"SystemCallArchitectures":  filter + "; images for 32 bits run on 64",
	"SystemCallFilter":         filter,
	"UMask":                    "containerd inherits it: the directories of images and /etc/hosts of pods would be closed to their users",
	"User=/DynamicUser":        "mounts, namespaces and cgroups of pods need root",
}

// TestTheUnitLacksOnlyWhatPodsCannotBear compares with what systemd itself asks for.
func TestTheUnitLacksOnlyWhatPodsCannotBear(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("| setting | why not |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(&rows, "| `%s=` | %s |\n", name, missing[name])
	}
	wantTable(t, "unit", rows.String())

	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skipf("the table is not compared with systemd: %v", err)
	}
	n := install(t)
	unit := filepath.Join(n.root, "etc/systemd/system/kubelet.service")
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=yes", "--json=short", unit).Output()
	if err != nil {
		t.Fatal(err)
	}
	var asked []struct {
		Name     string
		Set      *bool
		Exposure *string
	}
	if err := json.Unmarshal(out, &asked); err != nil {
		t.Fatalf("decode %q: %v", out, err)
	}
	lacks := map[string]bool{}
	for _, a := range asked {
		if a.Set != nil && !*a.Set && a.Exposure != nil {
			at := strings.LastIndex(a.Name, "=")
			lacks[strings.TrimSuffix(a.Name[:at], "=")] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		if missing[name] == "" {
			t.Errorf("systemd asks for %s=, and neither the unit nor the table has it", name)
		}
	}
	for name := range missing {
		if !lacks[name] {
			t.Errorf("the table says that the unit lacks %s=, and systemd does not miss it", name)
		}
	}
}

// wantTable compares a table of docs/HARDENING.md, between two marks, with what it has to be.
func wantTable(t *testing.T, name, want string) {
	t.Helper()
	page := filepath.Join("..", "..", "docs", "HARDENING.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), "<!-- "+name+" -->\n")
	got, after, ends := strings.Cut(rest, "<!-- end -->\n")
	switch {
	case !begins || !ends:
		t.Fatalf("%s has no table %q", page, name)
	case got == want:
	case *update:
		err = os.WriteFile(page, []byte(before+"<!-- "+name+" -->\n"+want+"<!-- end -->\n"+after), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is of another table (go test ./test/hardening -update writes it anew); want\n%s", page, want)
	}
}
