package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodal/node"
)

func TestWriterThatPausesIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	r, file := newFile(t, dir)
	file.settled = time.Hour
	r.run(file.Run)
	r.until("the source has delivered", r.ready)

	slow, err := os.Create(filepath.Join(dir, "slow.yaml"))
	must(t, err)
	_, err = slow.WriteString(podYAML("slow", "a:1"))
	must(t, err)
	// A second file shows that the directory was looked at meanwhile.
	write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
	r.untilPods("web-node-1=a:1")
	_, err = slow.WriteString("    args: [x]\n")
	must(t, err)
	must(t, slow.Close())
	r.untilPods("slow-node-1=a:1 web-node-1=a:1")
	view, _ := r.Intake.Store.View(node.Key{Namespace: "default", Name: "slow-node-1"})
	if got := view.Slot.Pod.Object.Spec.Containers[0].Args; len(got) != 1 {
		t.Errorf("args = %q, want those written last", got)
	}
	if view.Slot.Next != nil {
		t.Error("the pod was taken twice")
	}
}

func TestEditorThatMovesFilesReplacesNothingTwice(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	write(t, path, podYAML("web", "a:1"))
	r, file := newFile(t, dir)
	watch := openWatch()
	defer watch.close()
	file.turn(watch, true)
	before, _ := r.Intake.Store.View(node.Key{Namespace: "default", Name: "web-node-1"})

	must(t, os.Rename(path, filepath.Join(dir, ".web.yaml.old")))
	if wait := file.turn(watch, false); wait == 0 {
		t.Error("a file that was moved away is not waited for")
	}
	write(t, path, podYAML("web", "a:1"))
	age(t, path)
	file.turn(watch, false)
	after, _ := r.Intake.Store.View(node.Key{Namespace: "default", Name: "web-node-1"})
	if after.Slot != before.Slot {
		t.Error("the pod was touched")
	}
}

func TestAFileThatIsMovedAwayTwiceIsWaitedForTwice(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	r, watch := left(t, dir)
	file := NewFile(FileConfig{Path: dir, Sink: r.Sink})
	file.settled = time.Hour
	file.turn(watch, true)

	must(t, os.Remove(path))
	file.turn(watch, false)
	file.goneForLong(path)
	slow, err := os.Create(path)
	must(t, err)
	defer slow.Close()
	file.turn(watch, false)
	must(t, os.Remove(path))
	if wait := file.turn(watch, false); wait <= 0 || wait > vanished {
		t.Errorf("the file is looked for after %s, want up to %s", wait, vanished)
	}
	if got, want := r.pods(), "web-node-1=a:1"; got != want {
		t.Errorf("pods = %s, want %s", got, want)
	}
}

func TestAFileThatChangesWhileItIsLookedAtIsNotRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	write(t, path, podYAML("web", "a:1"))
	age(t, path)
	_, file := newFile(t, dir)
	looked, err := os.Stat(path)
	must(t, err)
	write(t, path, podYAML("web", "a"))
	if seen, wait, err := file.see(path, looked, true, time.Now()); seen != nil || wait <= 0 || err != nil {
		t.Errorf("the file is %v, to be looked at after %s (%v), want it to be waited for", seen, wait, err)
	}
	must(t, os.Remove(path))
	if _, _, err := file.see(path, looked, true, time.Now()); !absent(err) {
		t.Errorf("a file that went is %v, want absent", err)
	}
}

func TestAFileYoungerThanTheLookIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	r, watch := left(t, dir)
	file := NewFile(FileConfig{Path: dir, Sink: r.Sink})
	file.settled = time.Hour
	write(t, path, podYAML("web", "a"))
	modified := func(after time.Duration) {
		then := time.Now().Add(after)
		must(t, os.Chtimes(path, then, then))
	}
	modified(time.Minute)
	if wait := file.turn(watch, true); wait <= 0 {
		t.Error("a file that was just written is not waited for")
	}
	if got, want := r.pods(), "web-node-1=a:1"; got != want {
		t.Errorf("pods = %s, want %s", got, want)
	}
	// A clock that was set back is another matter.
	modified(24 * time.Hour)
	file.turn(watch, true)
	if got, want := r.pods(), "web-node-1=a"; got != want {
		t.Errorf("pods = %s, want %s", got, want)
	}
}

func TestOnlyALinkDangles(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "web.yaml"), filepath.Join(dir, "link")
	write(t, path, "") // as if it had arrived during the look
	must(t, os.Symlink("nowhere", link))
	if dangles(path) || !dangles(link) {
		t.Errorf("dangles = %t for a file, %t for a link to nowhere; want false, true", dangles(path), dangles(link))
	}
}

func TestDirectorySwappedByLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	for version, image := range map[string]string{"..v1": "a:1", "..v2": "a:2"} {
		must(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		path := filepath.Join(dir, version, "web.yaml")
		write(t, path, podYAML("web", image))
		age(t, path)
	}
	must(t, os.Symlink("..v1", filepath.Join(dir, "..data")))
	must(t, os.Symlink("..data/web.yaml", filepath.Join(dir, "web.yaml")))
	r, file := newFile(t, dir)
	r.run(file.Run)
	r.untilPods("web-node-1=a:1")

	must(t, os.Symlink("..v2", filepath.Join(dir, "..tmp")))
	must(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	r.untilPods("web-node-1=a:2")
}

func TestOtherFilesThanManifestsAreIgnored(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".hidden.yaml"), podYAML("hidden", "a:1"))
	write(t, filepath.Join(dir, "removed.yaml~"), podYAML("backup", "a:1"))
	write(t, filepath.Join(dir, "#web.yaml#"), podYAML("unsaved", "a:1"))
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	write(t, filepath.Join(dir, "sub", "sub.yaml"), podYAML("sub", "a:1"))
	must(t, os.Symlink("sub", filepath.Join(dir, "link")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
	r, file := newFile(t, dir)
	r.run(file.Run)
	r.untilPods("web-node-1=a:1")
	r.until("the source has delivered", r.ready)
	errors := r.errors()
	if len(errors) != 2 || !strings.Contains(errors["pipe"], "not a regular file") || errors["dangling"] == "" {
		t.Errorf("errors = %q, want those of the pipe and the dangling link", errors)
	}
}

func TestAFileThatIsNeverAtItsEndHoldsUpNoOther(t *testing.T) {
	const messages = "/proc/kmsg"
	file, err := os.Open(messages)
	if err != nil {
		t.Skip("the kernel's messages cannot be read: ", err)
	}
	file.Close()
	dir := t.TempDir()
	must(t, os.Symlink(messages, filepath.Join(dir, "a")))
	write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
	r, source := newFile(t, dir)
	r.run(source.Run)
	r.untilPods("web-node-1=a:1")
	r.until("the link has an error", func() bool { return r.errors()["a"] != "" })
}

func TestPollWithoutInotify(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	write(t, path, podYAML("web", "a:1"))
	r, file := newFile(t, dir)
	file.settled = time.Hour
	watch := &watch{broken: errors.New("none to spare")}
	file.turn(watch, true)
	if got, want := r.pods(), "web-node-1=a:1"; got != want {
		t.Fatalf("pods = %s, want %s", got, want)
	}

	write(t, path, podYAML("web", "a:2"))
	if wait := file.turn(watch, true); wait <= 0 || wait > time.Hour {
		t.Errorf("a file that was just written is looked at again after %s, want up to an hour", wait)
	}
	if got, want := r.pods(), "web-node-1=a:1"; got != want {
		t.Errorf("pods = %s, want %s until the file has settled", got, want)
	}
	age(t, path)
	file.turn(watch, true)
	if got, want := r.pods(), "web-node-1=a:2"; got != want {
		t.Errorf("pods = %s, want %s", got, want)
	}
}

func TestIdlePollReadsNothingAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	write(t, path, podYAML("web", "a:1"))
	age(t, path)
	r, file := newFile(t, dir)
	watch := openWatch()
	defer watch.close()
	file.turn(watch, true)
	remembered, revision := file.files[path], r.Intake.Store.Revision()
	for range 3 {
		file.turn(watch, true)
	}
	if file.files[path] != remembered {
		t.Error("a file that has not changed was read again")
	}
	if got := r.Intake.Store.Revision(); got != revision {
		t.Errorf("revision = %d, want %d", got, revision)
	}
	// Touched, it is read but not decoded, and its pod is not applied.
	must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-48*time.Hour)))
	file.turn(watch, true)
	if got := r.Intake.Store.Revision(); got != revision {
		t.Errorf("revision after a touch = %d, want %d", got, revision)
	}
}

// age makes a file old enough to be taken for whole.
func age(t testing.TB, path string) {
	t.Helper()
	then := time.Now().Add(-24 * time.Hour)
	must(t, os.Chtimes(path, then, then))
}
