package podfiles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestHosts(t *testing.T) {
	head := managed + loopback
	for _, test := range []struct {
		name  string
		hosts Hosts
		want  string
	}{
		{"the pod's name at its addresses", Hosts{Name: "web", IPs: []string{"10.0.0.1", "fd00::1"}}, head + "10.0.0.1\tweb\nfd00::1\tweb\n"},
		{"the full name before the short one", Hosts{Name: "web", Domain: "sub.default.svc.cluster.local", IPs: []string{"10.0.0.1"}},
			head + "10.0.0.1\tweb.sub.default.svc.cluster.local\tweb\n"},
		{"aliases at the end", Hosts{Name: "web", Aliases: []corev1.HostAlias{
			{IP: "192.0.2.1", Hostnames: []string{"a", "b.example"}}, {IP: "192.0.2.2", Hostnames: []string{"c"}},
		}}, head + "\n# Entries added by HostAliases.\n192.0.2.1\ta\tb.example\n192.0.2.2\tc\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.hosts.Text(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	aliases := []corev1.HostAlias{{IP: "192.0.2.1", Hostnames: []string{"a"}}}
	want := managedHost + "127.0.0.1 host\n\n# Entries added by HostAliases.\n192.0.2.1\ta\n"
	if got := HostNetwork("127.0.0.1 host\n", aliases); got != want {
		t.Errorf("on the host's network: got %q, want %q", got, want)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestHostsFileIsWrittenInPlace(t *testing.T) {
	tree := Tree{Root: filepath.Join(t.TempDir(), "pods")}
	path, err := tree.WriteHosts("uid-1", "one")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(tree.Root, "uid-1/etc-hosts"); path != want || read(t, path) != "one" {
		t.Errorf("wrote %s, want %s", path, want)
	}
	mounted, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer mounted.Close()
	if _, err := tree.WriteHosts("uid-1", "longer"); err != nil {
		t.Fatal(err)
	}
	before, _ := mounted.Stat()
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || read(t, path) != "longer" || after.Mode() != 0o644 {
		t.Errorf("rewritten, it is %v with %q, want the same file for everybody to read", after, read(t, path))
	}
}

func TestHostsFileIsReadNoFurtherThanItShouldGo(t *testing.T) {
	tree := Tree{Root: t.TempDir()}
	path, err := tree.WriteHosts("uid-1", "text")
	if err == nil {
		err = os.Truncate(path, 256<<20) // as a container can
	}
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = tree.WriteHosts("uid-1", "text")
	runtime.ReadMemStats(&after)
	if err != nil || read(t, path) != "text" {
		t.Errorf("got %v, want it to say what it should again", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("it took %d bytes of memory", got)
	}
}

func TestLastWords(t *testing.T) {
	tree := Tree{Root: filepath.Join(t.TempDir(), "pods")}
	run := Run{UID: "uid-1", Container: "main", Attempt: 3}
	if got, err := tree.Message(run); got != "" || err != nil {
		t.Errorf("before the first pod: got %q, %v, want nothing", got, err)
	}
	path, err := tree.MakeMessage(run)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o666 || info.Size() != 0 {
		t.Errorf("the file is %v, %v, want an empty one that all may write to", info, err)
	}
	for _, test := range []struct{ name, wrote, want string }{
		{"nothing", "", ""},
		{"a line", "sorry\n", "sorry\n"},
		{"too much", strings.Repeat("a", 5000) + "the reason", strings.Repeat("a", 4086) + "the reason"},
		{"no more than is told", strings.Repeat("a", 4096), strings.Repeat("a", 4096)},
		{"a character that was cut in half", strings.Repeat("é", 2048) + "e", "\uFFFD" + strings.Repeat("é", 2047) + "e"},
		{"what is no text", "a\xffb", "a\uFFFDb"},
	} {
		if err := os.WriteFile(path, []byte(test.wrote), 0o666); err != nil {
			t.Fatal(err)
		}
		if again, err := tree.MakeMessage(run); err != nil || again != path {
			t.Fatalf("made again: %s, %v", again, err)
		}
		if got, err := tree.Message(run); got != test.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.want)
		}
	}
	if got, err := tree.Message(Run{UID: "uid-1", Container: "main", Attempt: 4}); got != "" || err != nil {
		t.Errorf("the next run has said %q, %v, want nothing", got, err)
	}
}

func TestLastWordsOfAHugeFileAreItsEnd(t *testing.T) {
	tree := Tree{Root: t.TempDir()}
	run := Run{UID: "uid-1", Container: "main"}
	path, err := tree.MakeMessage(run)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteAt([]byte("the reason"), 8<<30) // as a container can: there is a hole before it
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := tree.Message(run); err != nil || len(got) != 4096 || !strings.HasSuffix(got, "\x00the reason") {
		t.Errorf("got %d bytes, %v, want the last 4096", len(got), err)
	}
}

func TestOtherFilesThanRegularOnesAreNotRead(t *testing.T) {
	tree := Tree{Root: t.TempDir()}
	run := Run{UID: "uid-1", Container: "main"}
	for _, name := range []string{run.file(), filepath.Join(run.UID, hostsFile)} {
		if err := os.MkdirAll(filepath.Join(tree.Root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := tree.Message(run); got != "" || !errors.Is(err, node.ErrInvalid) {
		t.Errorf("got %q, %v, want a refusal", got, err)
	}
	if _, err := tree.WriteHosts(run.UID, "text"); !errors.Is(err, node.ErrInvalid) {
		t.Errorf("the hosts file: got %v, want a refusal", err)
	}
}

func TestNothingLeadsOut(t *testing.T) {
	base := t.TempDir()
	tree := Tree{Root: filepath.Join(base, "pods")}
	secret := filepath.Join(base, "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.MkdirAll(filepath.Join(tree.Root, "uid-1/containers/main"), 0o755),
		os.Symlink(secret, filepath.Join(tree.Root, "uid-1/containers/main/0")), os.Symlink(secret, filepath.Join(tree.Root, "uid-1/etc-hosts"))); err != nil {
		t.Fatal(err)
	}
	if got, err := tree.Message(Run{UID: "uid-1", Container: "main"}); got != "" || err == nil {
		t.Errorf("through a link: got %q, %v, want a refusal", got, err)
	}
	if _, err := tree.WriteHosts("uid-1", "text"); err == nil || read(t, secret) != "secret" {
		t.Errorf("the hosts file was written through a link: %v", err)
	}
	for _, name := range []string{"", ".", "..", "../secret", "a/b"} {
		_, hosts := tree.WriteHosts(name, "text")
		_, message := tree.MakeMessage(Run{UID: "uid-1", Container: name})
		for _, err := range []error{hosts, message, tree.RemovePod(name), tree.RemoveRun(Run{UID: name, Container: "main"})} {
			if !errors.Is(err, node.ErrInvalid) {
				t.Errorf("the name %q gives %v, want it refused", name, err)
			}
		}
	}
}

func TestRemoval(t *testing.T) {
	tree := Tree{Root: t.TempDir()}
	fill := func(uid string) {
		t.Helper()
		_, hosts := tree.WriteHosts(uid, "text")
		_, first := tree.MakeMessage(Run{UID: uid, Container: "main"})
		_, second := tree.MakeMessage(Run{UID: uid, Container: "main", Attempt: 1})
		if err := errors.Join(hosts, first, second); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(name string) bool {
		_, err := os.Lstat(filepath.Join(tree.Root, name))
		return errors.Is(err, fs.ErrNotExist)
	}
	fill("uid-1")
	if err := tree.RemoveRun(Run{UID: "uid-1", Container: "main"}); err != nil || !gone("uid-1/containers/main/0") || gone("uid-1/containers/main/1") {
		t.Errorf("removing the first run: %v, want its file gone and the second's there", err)
	}
	if err := tree.RemovePod("uid-1"); err != nil || !gone("uid-1") {
		t.Errorf("removing the pod: %v, want its directory gone", err)
	}
	fill("uid-2")
	if err := os.Mkdir(filepath.Join(tree.Root, "uid-2/volumes"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tree.RemovePod("uid-2"); err != nil || !gone("uid-2/etc-hosts") || gone("uid-2/volumes") {
		t.Errorf("removing a pod with a volume: %v, want the volume left alone", err)
	}
	for range 2 {
		if err := errors.Join(tree.RemovePod("uid-3"), tree.RemoveRun(Run{UID: "uid-3", Container: "main"})); err != nil {
			t.Errorf("removing what is not there: %v, want success", err)
		}
	}
}
