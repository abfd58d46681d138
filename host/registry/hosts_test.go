package registry

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var testMirror = Mirror{URL: "http://127.0.0.1:4321", Token: "secret"}

// layOut writes files below a directory.
func layOut(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheMirrorComesFirst compares with testdata/hosts: NAME.in.toml is a user's
// file, NAME.out.toml what the runtime gets. go test -update rewrites the latter.
func TestTheMirrorComesFirst(t *testing.T) {
	inputs, err := filepath.Glob("testdata/hosts/*.in.toml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("got %d inputs (error %v)", len(inputs), err)
	}
	for _, input := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(input), ".in.toml"), func(t *testing.T) {
			text, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			user, effective := t.TempDir(), t.TempDir()
			layOut(t, user, map[string]string{"registry.test/hosts.toml": string(text)})
			if err := WriteHosts(user, effective, testMirror); err != nil {
				t.Fatal(err)
			}
			golden := strings.Replace(input, ".in.", ".out.", 1)
			compare(t, filepath.Join(effective, "registry.test", hostsFile), golden)
		})
	}
}

// compare also sees that the rendered file is TOML still.
func compare(t *testing.T, path, golden string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkHosts(got); err != nil {
		t.Errorf("what is written cannot be read: %v", err)
	}
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWithoutAConfigurationThereIsOnlyTheMirror(t *testing.T) {
	effective := filepath.Join(t.TempDir(), "runtime", "registries")
	if err := WriteHosts(filepath.Join(t.TempDir(), "absent"), effective, testMirror); err != nil {
		t.Fatal(err)
	}
	compare(t, filepath.Join(effective, "_default", hostsFile), "testdata/hosts/default.toml")
}

func TestCertificatesWithoutAFileCount(t *testing.T) {
	user, effective := t.TempDir(), t.TempDir()
	layOut(t, user, map[string]string{"registry.test/ca.crt": "CA", "registry.test/own.cert": "CERT", "registry.test/own.key": "KEY"})
	if err := WriteHosts(user, effective, testMirror); err != nil {
		t.Fatal(err)
	}
	compare(t, filepath.Join(effective, "registry.test", hostsFile), "testdata/hosts/certificates.toml")
}

func TestRelativePathsLeadToTheUsersFiles(t *testing.T) {
	user, effective := t.TempDir(), t.TempDir()
	layOut(t, user, map[string]string{
		"registry.test/hosts.toml":      "ca = ['certs/ca.pem', '../shared.pem', '../shared/other.pem']\n",
		"registry.test/certs/ca.pem":    "own",
		"shared.pem":                    "shared",
		"shared/other.pem":              "other",
		"registry.test/irrelevant/file": "",
	})
	if err := WriteHosts(user, effective, testMirror); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"certs/ca.pem": "own", "../shared.pem": "shared", "../shared/other.pem": "other"} {
		got, err := os.ReadFile(filepath.Join(effective, "registry.test", path))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q (error %v), want %q", path, got, err, want)
		}
	}
}

func TestABrokenFileIsNamedWithItsLineAndTheOthersCount(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no TOML", "server = 'https://broken.test'\n\n[host.'https://mirror.test'\n", "line 3"},
		{"a value of another type", "[host.'https://mirror.test']\ncapabilities = 'pull'\n", "line 2"},
		{"a key twice", "server = 'a'\nserver = 'b'\n", "line 2"},
		{"an unknown capability", "[host.'https://mirror.test']\ncapabilities = ['pul']\n", `host "https://mirror.test": capability "pul"`},
		{"an authority that is no path", "ca = 5\n", "ca has to be"},
		{"a client that is no pair", "client = [[['a']]]\n", "client has to be"},
		{"a header that is no text", "[host.'https://mirror.test'.header]\nX-A = 1\n", "header X-A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			user, effective := t.TempDir(), t.TempDir()
			layOut(t, user, map[string]string{"broken.test/hosts.toml": c.text, "whole.test/hosts.toml": "server = 'https://whole.test'\n"})
			err := WriteHosts(user, effective, testMirror)
			path := filepath.Join(user, "broken.test", hostsFile)
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %s and %q", err, path, c.want)
			}
			compare(t, filepath.Join(effective, "broken.test", hostsFile), "testdata/hosts/broken.toml")
			whole, err := os.ReadFile(filepath.Join(effective, "whole.test", hostsFile))
			if err != nil || !strings.Contains(string(whole), "https://whole.test") {
				t.Errorf("the other registry: got %q (error %v), want its server", whole, err)
			}
			if _, err := os.Stat(filepath.Join(effective, "_default", hostsFile)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatTheUserTakesAwayGoes(t *testing.T) {
	user, effective := t.TempDir(), t.TempDir()
	layOut(t, user, map[string]string{"old.test/hosts.toml": "server = 'https://old.test'\n", "old.pem": "", "kept.test/old.crt": "", "kept.test/new.crt": ""})
	if err := WriteHosts(user, effective, testMirror); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"old.test/hosts.toml", "old.test", "old.pem", "kept.test/old.crt"} {
		if err := os.Remove(filepath.Join(user, gone)); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteHosts(user, effective, Mirror{URL: "http://127.0.0.1:9999", Token: "new"}); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"old.test", "old.pem", "kept.test/old.crt"} {
		if _, err := os.Lstat(filepath.Join(effective, gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	text, err := os.ReadFile(filepath.Join(effective, "_default", hostsFile))
	if err != nil || !strings.Contains(string(text), "127.0.0.1:9999") {
		t.Errorf("got %q (error %v), want the new address", text, err)
	}
}

func TestCredentialsAreForTheRuntimeAlone(t *testing.T) {
	effective := filepath.Join(t.TempDir(), "registries")
	if err := WriteHosts(t.TempDir(), effective, testMirror); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{"": 0o700, "_default": 0o700, "_default/hosts.toml": 0o600} {
		if info, err := os.Stat(filepath.Join(effective, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: got %v (error %v), want mode %o", path, info, err, want)
		}
	}
}
