package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; review it after go test -update. Got:\n%s", path, got)
	}
}

func TestUsage(t *testing.T) { golden(t, "help.txt", Usage()) }

// The page names the settings that a running node takes, and which part does.
func TestThePageNamesTheSettingsThatARunningNodeTakes(t *testing.T) {
	const path, begin, end = "../../docs/CONFIGURATION.md", "this table -->\n", "<!-- end -->"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), begin)
	table, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", path, begin, end)
	}
	byPart, live := map[Part][]string{}, takers()
	for _, name := range liveSettings() {
		byPart[live[name]] = append(byPart[live[name]], "`"+name+"`")
	}
	want := "| part | takes |\n|---|---|\n"
	for _, part := range slices.Sorted(maps.Keys(byPart)) {
		want += "| " + string(part) + " | " + strings.Join(byPart[part], ", ") + " |\n"
	}
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != want {
		t.Errorf("the table of %s differs; review it after go test -update. Want:\n%s", path, want)
	}
}

func TestUsageHasEveryFlag(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	Flags(fs, &Options{})
	words := strings.Fields(Usage())
	fs.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(words, "--"+f.Name) {
			t.Errorf("--%s is not in --help", f.Name)
		}
	})
}

func TestConfigz(t *testing.T) {
	c := load(t, "--root-dir=/srv/node", "--hostname-override=web-1",
		"--manifest-url=https://me:hunter2@pods.example/list?token=hunter2", "--manifest-url-header=Authorization:hunter2")
	got, err := c.Configz()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got), "hunter2") {
		t.Error("Configz tells a secret")
	}
	if c.Sources.URLHeader["Authorization"][0] != "hunter2" {
		t.Error("Configz took the secret from the source too")
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "configz.json", pretty.String()+"\n")
}

// Every field decodes strictly and comes back: a full file survives the round.
func TestConfigzGivesBackEveryField(t *testing.T) {
	file, err := filepath.Abs("testdata/every_field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := load(t, "--config", file)
	got, err := c.Configz()
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ KubeletConfig map[string]any }
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	doc, err := readFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var k kubelet.KubeletConfiguration
	for path := range fields(&k) {
		top, _, _ := strings.Cut(path, ".")
		if doc[top] == nil {
			t.Errorf("the file does not set %s", top)
		}
		want, err := json.Marshal(doc[top])
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(back.KubeletConfig[top])
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s came back as %s, want %s", top, got, want)
		}
	}
}
