package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// told returns the settings of a node by their names.
func told(t *testing.T, args ...string) map[string]Told {
	t.Helper()
	all, err := load(t, args...).Told()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Told{}
	for i, one := range all {
		if i > 0 && all[i-1].Name >= one.Name {
			t.Errorf("%s stands behind %s", one.Name, all[i-1].Name)
		}
		found[one.Name] = one
	}
	return found
}

func TestEachSettingTellsItsValueAndWhereItComesFrom(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "kubelet.yaml", "maxPods: 5\npodsPerCore: 3\nauthentication: {anonymous: {enabled: false}}\n"+
		"evictionHard: {containerfs.available: 5%}\nfeatureGates: {NativeHistograms: true}\n")
	write(t, dir, "10.conf", "podPidsLimit: 9\n")
	got := told(t, "--config", file, "--config-dir", dir, "--max-pods=7", "--root-dir=/srv/x", "--boot-id-file=/y")
	for _, want := range []Told{
		{"maxPods", "--max-pods", "--max-pods", []byte("7"), "", ""}, // the flag wins over any file
		{"podsPerCore", "--pods-per-core", file, []byte("3"), "", PartOffer},
		{"podPidsLimit", "--pod-max-pids", filepath.Join(dir, "10.conf"), []byte("9"), "", ""},
		{"authentication.anonymous.enabled", "--anonymous-auth", file, []byte("false"), "", ""},
		{"authentication.x509.clientCAFile", "--client-ca-file", "", []byte(`""`), "", PartAccess},
		{"nodeLeaseDurationSeconds", "", "", []byte("40"), "", ""},
		{"--root-dir", "", "--root-dir", []byte(`"/srv/x"`), "", ""},
		{"--socket", "", "", []byte(`"` + DefaultSocket + `"`), "", ""},
		{"--boot-id-file", "", "--boot-id-file", []byte(`"/y"`), noCadvisor, ""},
		{"evictionHard", "--eviction-hard", file, []byte(`{"containerfs.available":"5%"}`),
			"containerfs.available: the thresholds of imagefs hold if images have a disk of their own, else those of nodefs", PartEviction},
		{"featureGates", "--feature-gates", file, []byte(`{"NativeHistograms":true}`), "NativeHistograms: histograms have fixed buckets", ""},
		{"iptablesDropBit", "", "", []byte("15"), "the node makes no KUBE- chains in iptables", ""},
	} {
		g := got[want.Name]
		if g.Flag != want.Flag || g.Source != want.Source || string(g.Value) != string(want.Value) || g.Instead != want.Instead ||
			g.TakenBy != want.TakenBy {
			t.Errorf("got %+v with %s, want %+v with %s", g, g.Value, want, want.Value)
		}
	}
	for _, absent := range []string{"--maxPods", "--max-pods", "--help", "--version", "--containerd"} {
		if _, found := got[absent]; found {
			t.Errorf("%s is a setting", absent)
		}
	}
}

func TestSettingsTellNoSecret(t *testing.T) {
	for name, one := range told(t, "--manifest-url=https://me:hunter2@pods.example/list?token=hunter2",
		"--manifest-url-header=Authorization:hunter2", "--storage-driver-password=hunter2") {
		if strings.Contains(string(one.Value), "hunter2") {
			t.Errorf("%s tells a secret: %s", name, one.Value)
		}
	}
}
