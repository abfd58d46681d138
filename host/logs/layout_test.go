package logs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

var web = runOf("web", "1-2")

// runOf is the first run of the main container of a pod.
func runOf(name string, uid types.UID) node.LogRun {
	return node.LogRun{Key: node.Key{Namespace: "default", Name: name}, UID: uid, Container: "main"}
}

func newLayout(t *testing.T) Layout {
	dir := t.TempDir()
	return Layout{Pods: filepath.Join(dir, "pods"), Links: filepath.Join(dir, "containers")}
}

// makeContainerDir does what is done for the runtime, which makes log files but no
// directories.
func makeContainerDir(l Layout, run node.LogRun) error {
	path, err := l.Path(run)
	return errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestPath(t *testing.T) {
	l := Layout{Pods: "/var/log/pods"}
	third := web
	third.Attempt = 3
	got, err := l.Path(third)
	if want := "/var/log/pods/default_web_1-2/main/3.log"; got != want || err != nil {
		t.Errorf("Path = %q, %v, want %q", got, err, want)
	}
}

func TestUnsafeNamesAreRefusedEverywhere(t *testing.T) {
	l := newLayout(t)
	for _, name := range []string{"", ".", "..", "../x", "a/b", "a\x00b"} {
		key, uid, run := node.Key{Namespace: name, Name: name}, types.UID(name), web
		run.Container = name
		_, dirErr := l.PodDir(key, uid)
		_, pathErr := l.Path(run)
		for what, err := range map[string]error{
			"PodDir":    dirErr,
			"Path":      pathErr,
			"RemovePod": l.RemovePod(key, uid),
			"RemoveRun": l.RemoveRun(run),
			"Link":      l.Link(web.Key, "main", name, "/log"),
			"Unlink":    l.Unlink(key, "main", "id"),
		} {
			if !errors.Is(err, node.ErrInvalid) {
				t.Errorf("%s of %q = %v, want %v", what, name, err, node.ErrInvalid)
			}
		}
	}
}

func TestRemoveRunTakesRotatedSiblings(t *testing.T) {
	l, second := newLayout(t), web
	second.Attempt = 1
	if err := makeContainerDir(l, web); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(l.Pods, "default_web_1-2", "main")
	gone := []string{"1.log", "1.log.20260102-150405", "1.log.20260102-150405.gz"}
	kept := []string{"0.log", "11.log", "10.log.20260102-150405"}
	for _, name := range append(gone, kept...) {
		appendTo(t, filepath.Join(dir, name), "")
	}
	for range 2 { // the second time there is nothing to do
		if err := l.RemoveRun(second); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range gone {
		if exists(filepath.Join(dir, name)) {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range kept {
		if !exists(filepath.Join(dir, name)) {
			t.Errorf("%s is gone", name)
		}
	}
}

func TestRemovePod(t *testing.T) {
	l := newLayout(t)
	if err := l.RemovePod(web.Key, web.UID); err != nil {
		t.Errorf("RemovePod without any logs = %v", err)
	}
	other := runOf("other", "3")
	for _, pod := range []node.LogRun{web, other} {
		if err := makeContainerDir(l, pod); err != nil {
			t.Fatal(err)
		}
	}
	path, err := l.Path(web)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, full("one"))
	if err := l.RemovePod(web.Key, web.UID); err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Join(l.Pods, "default_web_1-2")) {
		t.Error("the pod's directory is still there")
	}
	if !exists(filepath.Join(l.Pods, "default_other_3", "main")) {
		t.Error("another pod's directory is gone")
	}
}

func TestAPodWithTooLongANameForLogsHasNoneToRemove(t *testing.T) {
	l := newLayout(t)
	long := runOf(strings.Repeat("a", 253), "1")
	if err := makeContainerDir(l, long); err == nil {
		t.Fatal("its directory can be made")
	}
	if err := l.RemovePod(long.Key, long.UID); err != nil {
		t.Errorf("RemovePod = %v, or the pod would never be gone", err)
	}
}

func TestPlantedLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	treasure := filepath.Join(outside, "0.log")
	for name, target := range map[string]string{
		"a link out of the root":        outside,
		"a link to another pod's files": "../default_other_3/main",
	} {
		t.Run(name, func(t *testing.T) {
			l := newLayout(t)
			other := runOf("other", "3")
			if err := makeContainerDir(l, other); err != nil {
				t.Fatal(err)
			}
			victim := filepath.Join(l.Pods, "default_other_3", "main", "0.log")
			appendTo(t, victim, "")
			appendTo(t, treasure, "")
			pod := filepath.Join(l.Pods, "default_web_1-2")
			if err := os.Mkdir(pod, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, filepath.Join(pod, "main")); err != nil {
				t.Fatal(err)
			}
			if err := l.RemoveRun(web); err == nil {
				t.Error("RemoveAttempt went through a link")
			}
			if err := l.RemovePod(web.Key, web.UID); err != nil {
				t.Errorf("RemovePod = %v, want the link removed", err)
			}
			if exists(pod) || !exists(victim) || !exists(treasure) {
				t.Errorf("pod directory there: %t, files behind links there: %t, %t, want only those",
					exists(pod), exists(victim), exists(treasure))
			}
		})
	}
}

func TestLink(t *testing.T) {
	l := newLayout(t)
	link := filepath.Join(l.Links, "web_default_main-abc.log")
	for _, target := range []string{"/old.log", "/new.log", "/new.log"} {
		if err := l.Link(web.Key, "main", "abc", target); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(link); got != target || err != nil {
			t.Errorf("the link leads to %q, %v, want %q", got, err, target)
		}
	}
	for range 2 {
		if err := l.Unlink(web.Key, "main", "abc"); err != nil {
			t.Fatal(err)
		}
	}
	if exists(link) {
		t.Error("the link is still there")
	}
}

func TestLinkNameFitsAFileName(t *testing.T) {
	l := newLayout(t)
	key := node.Key{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("p", 253)}
	if err := l.Link(key, "main", "abc", "/log"); err != nil {
		t.Error(err)
	}
}
