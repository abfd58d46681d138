package auth

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hosts = []string{"node-1", "10.0.0.7", "fd00::7"}
)

func bootstrap(t *testing.T, dirs Dirs, hosts []string, now time.Time) *Material {
	t.Helper()
	m, err := Bootstrap(dirs, hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// snapshot maps each file below root to a digest of its content.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// changed lists the files that differ between two snapshots.
func changed(before, after map[string]string) []string {
	var names []string
	for name := range maps.All(after) {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			names = append(names, "-"+name)
		}
	}
	slices.Sort(names)
	return names
}

func TestBootstrapRemakesOnlyWhatItMust(t *testing.T) {
	const day = 24 * time.Hour
	remove := func(names ...string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			for _, name := range names {
				if err := os.Remove(filepath.Join(root, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write := func(name, data string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			if err := os.WriteFile(filepath.Join(root, name), []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	certificates := "credentials/admin.crt credentials/admin.key credentials/operator.crt credentials/operator.key " +
		"credentials/viewer.crt credentials/viewer.key"
	serving, issued := "pki/serving.crt pki/serving.key", "pki/issued.json"
	authority := "pki/ca.crt pki/ca.key"
	cases := []struct {
		name   string
		change func(*testing.T, string)
		hosts  []string
		later  time.Duration
		want   string
	}{
		{"nothing on the next start", nil, hosts, day, ""},
		{"nothing when the hosts come in another order", nil, []string{"fd00:0::7", "node-1", "10.0.0.7"}, day, ""},
		{"the serving certificate when a name changes", nil, []string{"node-1"}, day, serving},
		{"what is about to expire", nil, hosts, 350 * day, certificates + " " + issued + " " + serving},
		{"what has expired", nil, hosts, 400 * day, certificates + " " + issued + " " + serving},
		{"all certificates when the authority expires", nil, hosts, 3650 * day, certificates + " " + authority + " " + issued + " " + serving},
		{"all certificates when the authority is gone", remove("pki/ca.crt"), hosts, day, certificates + " " + authority + " " + issued + " " + serving},
		{"a pair of which one half is gone", remove("credentials/viewer.key"), hosts, day, "credentials/viewer.crt credentials/viewer.key " + issued},
		{"the list of issued certificates", write("pki/issued.json", "?"), hosts, day, issued},
		{"a pair that is damaged", write("pki/serving.crt", "?"), hosts, day, serving},
		{"a token whose file is gone, with its record", remove("credentials/viewer.token"), hosts, day, "credentials/viewer.token pki/tokens/viewer.json"},
		{"no token that was revoked", remove("pki/tokens/viewer.json"), hosts, day, ""},
		{"a token revoked and removed", remove("pki/tokens/viewer.json", "credentials/viewer.token"), hosts, day, "credentials/viewer.token pki/tokens/viewer.json"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			bootstrap(t, Dirs{Root: root}, hosts, start)
			if c.change != nil {
				c.change(t, root)
			}
			before := snapshot(t, root)
			bootstrap(t, Dirs{Root: root}, c.hosts, start.Add(c.later))
			after := snapshot(t, root)
			if got := strings.Join(changed(before, after), " "); got != c.want {
				t.Errorf("remade %q, want %q", got, c.want)
			}
			bootstrap(t, Dirs{Root: root}, c.hosts, start.Add(c.later))
			if got := changed(after, snapshot(t, root)); got != nil {
				t.Errorf("a second start remade %q", got)
			}
		})
	}
}

func TestBootstrapKeepsSecretsFromOthers(t *testing.T) {
	root := filepath.Join(t.TempDir(), "kubelet")
	bootstrap(t, Dirs{Root: root}, hosts, start)
	var files int
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files != 17 {
		t.Errorf("made %d files, want 17", files)
	}
}

func TestTheServerKeepsNoToken(t *testing.T) {
	root := t.TempDir()
	bootstrap(t, Dirs{Root: root}, hosts, start)
	token, err := os.ReadFile(filepath.Join(root, "credentials", "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(token), tokenPrefix) || len(strings.TrimSpace(string(token))) != len(tokenPrefix)+43 {
		t.Errorf("the token has another shape: %d bytes", len(token))
	}
	record, err := os.ReadFile(filepath.Join(root, "pki", "tokens", "admin.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(record), strings.TrimSpace(string(token))) {
		t.Error("the record holds the token")
	}
}

func TestAForeignCertificateIsServedUnchanged(t *testing.T) {
	root, certDir := t.TempDir(), t.TempDir()
	self := servingTemplate([]string{"other"}, start)
	self.Subject.CommonName = "other@1700000000"
	if _, err := issue(self, nil, filepath.Join(certDir, "kubelet.crt"), filepath.Join(certDir, "kubelet.key"), start); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, certDir)
	m := bootstrap(t, Dirs{Root: root, Cert: certDir}, hosts, start.Add(time.Hour))
	if got := changed(before, snapshot(t, certDir)); got != nil {
		t.Errorf("replaced %q", got)
	}
	if want := filepath.Join(certDir, "kubelet.crt"); m.CertFile != want {
		t.Errorf("serves %s, want %s", m.CertFile, want)
	}
}
