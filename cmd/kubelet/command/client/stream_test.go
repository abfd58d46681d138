package client

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestLinesOfLogs(t *testing.T) {
	sources := []source{{"web", "main"}, {"a", "b"}}
	for _, c := range []struct {
		name string
		r    reading
		w    lineWriter
		want string
	}{
		{"as they are", reading{}, lineWriter{}, "one\x1b[2J\r\n\x1b[31mtwo\nno end"},
		{"on a terminal nothing but colours steers", reading{}, lineWriter{plain: true}, "one\\x1b[2J\n\x1b[31mtwo\x1b[0m\nno end\n"},
		{"with their source", reading{}, lineWriter{prefix: prefixOf(sources, 1, false)}, "a/b      one\x1b[2J\r\na/b      \x1b[31mtwo\na/b      no end\n"},
		{"that fit", reading{grep: "tw|end$"}, lineWriter{}, "\x1b[31mtwo\nno end\n"},
	} {
		var out bytes.Buffer
		c.w.out, c.w.lock = &out, &sync.Mutex{}
		if err := c.r.check([]string{"web"}); err != nil {
			t.Fatal(err)
		}
		c.w.fits = c.r.lines
		for _, part := range []string{"one\x1b[2", "J\r\n\x1b[31mtwo\nno ", "end"} {
			if _, err := c.w.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.w.end(); err != nil || out.String() != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, out.String(), err, c.want)
		}
	}
	if got := prefixOf(sources, 0, true); !strings.HasPrefix(got, "\x1b[36mweb/main ") {
		t.Errorf("on a terminal: got %q, want it in colour", got)
	}
	if got := prefixOf(sources[:1], 0, true); got != "" {
		t.Errorf("a log that is alone: got the prefix %q", got)
	}
}

func TestALineWithoutAnEndIsNotKeptWhole(t *testing.T) {
	w := lineWriter{out: io.Discard, lock: &sync.Mutex{}, plain: true}
	for range 4 {
		if _, err := w.Write(bytes.Repeat([]byte("x"), longestLine/2)); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.rest) >= longestLine {
		t.Errorf("%d bytes are kept", len(w.rest))
	}
}

func TestWhichContainerIsMeant(t *testing.T) {
	p := &corev1.Pod{}
	p.Spec.Containers = []corev1.Container{{Name: "app"}, {Name: "side"}}
	p.Spec.InitContainers = []corev1.Container{{Name: "setup"}}
	for wanted, want := range map[string]string{"": "app", "side": "side", "setup": "setup", "other": "it has setup,app,side"} {
		got, err := containerOf(p, wanted)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%q: got %q, want %q", wanted, got, want)
		}
	}
	p.Annotations = map[string]string{defaultContainer: "side"}
	if got, _ := containerOf(p, ""); got != "side" {
		t.Errorf("with the annotation: got %q, want side", got)
	}
}

func TestPortsAreRead(t *testing.T) {
	got, err := portsOf([]string{"8080", "9000:80", "0:443"})
	if want := []portPair{{8080, 8080}, {9000, 80}, {0, 443}}; err != nil || len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, word := range []string{"http", "80:", "1:2:3", "70000", "0", "5:0", "-1"} {
		if got, err := portsOf([]string{word}); err == nil {
			t.Errorf("%s: got %v, want an error", word, got)
		}
	}
}

// entry is one entry of a tar.
type entry struct {
	name, link, text string
	kind             byte
}

func tarOf(t *testing.T, all []entry) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range all {
		head := &tar.Header{Name: e.name, Linkname: e.link, Size: int64(len(e.text)), Mode: 0o644, Typeflag: e.kind}
		if err := w.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestATarOfAContainerStaysInItsDirectory(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []entry
		want    string // in the error; without an error the file copy/a has the text
		notes   int
	}{
		{"what was asked for", []entry{{"etc/", "", "", tar.TypeDir}, {"etc/a", "", "text", tar.TypeReg}}, "", 0},
		{"a way up", []entry{{"etc/../../evil", "", "x", tar.TypeReg}}, "was not asked for", 0},
		{"a path from the top", []entry{{"/evil", "", "x", tar.TypeReg}}, "was not asked for", 0},
		{"another name", []entry{{"evil", "", "x", tar.TypeReg}}, "was not asked for", 0},
		{"a link, and a file through it", []entry{{"etc/l", "/tmp", "", tar.TypeSymlink}, {"etc/a", "", "text", tar.TypeReg}}, "", 1},
		{"a device", []entry{{"etc/null", "", "", tar.TypeChar}, {"etc/a", "", "text", tar.TypeReg}}, "", 1},
	} {
		dir := t.TempDir()
		inside := filepath.Join(dir, "inside")
		// A link that is there already must not be followed out of the directory either.
		if err := errors.Join(os.Mkdir(inside, 0o755), os.Mkdir(filepath.Join(inside, "copy"), 0o755), os.Symlink(dir, filepath.Join(inside, "copy", "out"))); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(inside)
		if err != nil {
			t.Fatal(err)
		}
		notes := 0
		err = unpack(tarOf(t, c.entries), root, "etc", "copy", func(error) { notes++ })
		text, _ := os.ReadFile(filepath.Join(inside, "copy", "a"))
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		case c.want == "" && (err != nil || string(text) != "text" || notes != c.notes):
			t.Errorf("%s: got %v, %q, %d notes", c.name, err, text, notes)
		}
		if err := unpack(tarOf(t, []entry{{"etc/out/evil", "", "x", tar.TypeReg}}), root, "etc", "copy", func(error) {}); err == nil {
			t.Errorf("%s: a link led out of the directory", c.name)
		}
		if found, _ := filepath.Glob(filepath.Join(dir, "evil")); len(found) > 0 {
			t.Errorf("%s: %v is outside", c.name, found)
		}
		root.Close()
	}
}

func TestPackedFilesComeBack(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(from, "b", "c"), 0o755), os.WriteFile(filepath.Join(from, "b", "c", "d"), []byte("deep"), 0o600),
		os.Symlink("/etc/passwd", filepath.Join(from, "link"))); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	notes := 0
	if err := pack(&b, from, "site", func(error) { notes++ }); err != nil || notes != 1 {
		t.Fatalf("got %v, %d notes", err, notes)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := unpack(&b, root, "site", "copy", func(error) {}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(to, "copy", "b", "c", "d"))
	info, _ := os.Stat(filepath.Join(to, "copy", "b", "c", "d"))
	if err != nil || string(text) != "deep" || info.Mode().Perm() != 0o600 {
		t.Errorf("got %q, %v, %v", text, info, err)
	}
}

func TestVerbsOfStreamsRefuseWrongWords(t *testing.T) {
	n := newFakeNode(t)
	n.pods = somePods(t)
	for args, want := range map[string]string{
		"exec web ls":                     "want POD, then --",
		"exec web --":                     "want POD, then --",
		"logs":                            "POD missing",
		"logs web -l a=b":                 "not both",
		"logs web --grep (":               "--grep: error parsing regexp",
		"logs web -f -p":                  "leave -f out",
		"port-forward web":                "at least one port",
		"port-forward web http":           "want PORT or LOCAL:PORT",
		"cp web:/a other:/b":              "one of the two",
		"cp a b":                          "one of the two",
		"cp web: b":                       "a path in the container is missing",
		"attach":                          "want the name of a pod",
		"exec web --contianer x -- ls":    "did you mean --container?",
		"logs web --all-containers -c ab": "not both",
	} {
		args := strings.Fields(args)
		_, failed, code := n.run(t, append([]string{args[0], "--namespace=default"}, args[1:]...)...)
		if code != 2 || !strings.Contains(failed, want) {
			t.Errorf("%v: got %d, %q, want 2, %q", args, code, failed, want)
		}
	}
}
