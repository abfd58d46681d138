package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func take(t *testing.T, running *Config) (next *Config, differences []Difference) {
	t.Helper()
	wanted, err := running.Reread()
	if err != nil {
		t.Fatal(err)
	}
	if differences, err = running.Differences(wanted); err != nil {
		t.Fatal(err)
	}
	if next, err = running.Take(wanted); err != nil {
		t.Fatal(err)
	}
	left, err := next.Differences(wanted)
	if err != nil {
		t.Fatal(err)
	}
	waiting := slices.DeleteFunc(slices.Clone(differences), func(d Difference) bool { return d.TakenBy != "" })
	if names(left) != names(waiting) {
		t.Errorf("after the change %s wait, want %s", names(left), names(waiting))
	}
	return next, differences
}

func names(of []Difference) string {
	var all []string
	for _, d := range of {
		all = append(all, d.Setting)
	}
	return strings.Join(all, " ")
}

// Each setting either reaches the structs of the parts when it is taken, or leaves them as they were.
func TestEverySettingIsTakenOrWaits(t *testing.T) {
	for s := range honoured() {
		path := s.field
		if path == "" || path == "featureGates" {
			continue
		}
		dir := t.TempDir()
		running := load(t, "--config", write(t, dir, "kubelet.yaml", ""))
		write(t, dir, "kubelet.yaml", examples[path]+"\n")
		next, differences := take(t, running)
		wanted := load(t, "--config", filepath.Join(dir, "kubelet.yaml"))
		at := slices.IndexFunc(differences, func(d Difference) bool { return d.Setting == path })
		switch {
		case s.takenBy == "":
			t.Errorf("the row of %s names no part, and not atStart", path)
		case at < 0:
			t.Errorf("%q: got the differences %s, want %s among them", examples[path], names(differences), path)
		case s.takenBy == atStart && (differences[at].TakenBy != "" || visible(next) != visible(running)):
			t.Errorf("%s waits for a start, but is taken", path)
		case s.takenBy != atStart && (differences[at].TakenBy != s.takenBy || visible(next) != visible(wanted)):
			t.Errorf("%s is not taken as at a start:\n got %s\nwant %s", path, visible(next), visible(wanted))
		case s.takenBy != atStart && next.given.sources[path] == "":
			t.Errorf("%s is taken, but not from a file", path)
		}
	}
}

func TestWhatCanChangeIsTakenAndTheRestWaits(t *testing.T) {
	dir := t.TempDir()
	drops := filepath.Join(dir, "drops")
	if err := os.Mkdir(drops, 0o755); err != nil {
		t.Fatal(err)
	}
	running := load(t, "--config", write(t, dir, "kubelet.yaml", "maxPods: 7\nport: 10250\n"), "--config-dir", drops, "--pods-per-core=3")
	write(t, drops, "10.conf", "maxPods: 9\nport: 10260\npodsPerCore: 5\nhairpinMode: none\n")
	next, got := take(t, running)
	if next.Pods.Max != 9 || next.Listen.Port != 10250 || next.Pods.PerCPU != 3 {
		t.Errorf("got %d pods, port %d and %d pods a CPU, want 9, and 10250 and 3 as before",
			next.Pods.Max, next.Listen.Port, next.Pods.PerCPU)
	}
	want := []Difference{
		{Setting: "maxPods", TakenBy: PartOffer, Running: []byte("7"), Wanted: []byte("9")},
		{Setting: "port", Running: []byte("10250"), Wanted: []byte("10260")},
	}
	if !slices.EqualFunc(got, want, func(a, b Difference) bool {
		return a.Setting == b.Setting && a.TakenBy == b.TakenBy && string(a.Running) == string(b.Running) && string(a.Wanted) == string(b.Wanted)
	}) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for name, source := range map[string]string{
		"maxPods": filepath.Join(drops, "10.conf"), "port": filepath.Join(dir, "kubelet.yaml"), "podsPerCore": "--pods-per-core",
	} {
		if next.given.sources[name] != source {
			t.Errorf("%s is said to come from %q, want %q", name, next.given.sources[name], source)
		}
	}
	if !slices.ContainsFunc(Unhonoured(next), func(u Unmet) bool { return u.Setting == "hairpinMode" }) {
		t.Error("a setting without effect that came later is not named")
	}
	if err := os.Remove(filepath.Join(drops, "10.conf")); err != nil {
		t.Fatal(err)
	}
	if next, got = take(t, next); next.Pods.Max != 7 || names(got) != "maxPods" {
		t.Errorf("without the drop-in: got %d pods and the differences %s, want 7 and maxPods", next.Pods.Max, names(got))
	}
}

func TestLabelsOfAFileAreTaken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "labels")
	label := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	label("# of the rack\n\nrack=r1\nexample.com/disk=fast\n")
	running := load(t, "--node-labels-file", file, "--node-labels=zone=a")
	label("rack=r2\nzone=b\n")
	next, differences := take(t, running)
	if got := next.Node.Labels; len(got) != 2 || got["rack"] != "r2" || got["zone"] != "a" {
		t.Errorf("got the labels %v, want rack=r2 of the file and zone=a of the command line", got)
	}
	if names(differences) != "--node-labels-file" || string(differences[0].Wanted) != `{"rack":"r2","zone":"b"}` {
		t.Errorf("got %+v", differences)
	}
	for _, wrong := range []string{"rack", "rack=a\nrack=b", "not a key=x", "rack=not a value"} {
		label(wrong)
		if _, err := running.Reread(); err == nil || !strings.Contains(err.Error(), "--node-labels-file") {
			t.Errorf("%q: got the error %v", wrong, err)
		}
	}
}

func TestDifferencesTellNoSecrets(t *testing.T) {
	dir := t.TempDir()
	running := load(t, "--config", write(t, dir, "kubelet.yaml", ""))
	write(t, dir, "kubelet.yaml", "staticPodURL: https://me:hunter2@pods.example/?token=hunter2\nstaticPodURLHeader: {Authorization: [hunter2]}\n")
	_, got := take(t, running)
	if names(got) != "staticPodURL staticPodURLHeader" {
		t.Errorf("got %s", names(got))
	}
	for _, d := range got {
		if strings.Contains(string(d.Wanted), "hunter2") {
			t.Errorf("%s is told as %s", d.Setting, d.Wanted)
		}
	}
}
