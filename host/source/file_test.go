package source

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodal/node"
)

// newFile is a source that polls once an hour: what it sees it was told.
func newFile(t *testing.T, path string) (*rig, *File) {
	t.Helper()
	r := newRig(t, node.SourceFile)
	return r, NewFile(FileConfig{Path: path, Poll: time.Hour, Sink: r.Sink})
}

func TestDirectoryIsFollowed(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
	r, file := newFile(t, dir)
	r.run(file.Run)

	r.untilPods("web-node-1=a:1")
	r.until("the source has delivered", r.ready)

	write(t, filepath.Join(dir, "db.json"), podJSON("db", "b:1"))
	r.untilPods("db-node-1=b:1 web-node-1=a:1")

	write(t, filepath.Join(dir, "two"), podYAML("u", "u:1")+"---\n"+podYAML("v", "v:1"))
	r.untilPods("db-node-1=b:1 u-node-1=u:1 v-node-1=v:1 web-node-1=a:1")

	write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:2"))
	r.untilPods("db-node-1=b:1 u-node-1=u:1 v-node-1=v:1 web-node-1=a:2")

	write(t, filepath.Join(dir, "two"), podYAML("v", "v:1"))
	r.untilPods("db-node-1=b:1 v-node-1=v:1 web-node-1=a:2")

	must(t, os.Remove(filepath.Join(dir, "two")))
	must(t, os.Remove(filepath.Join(dir, "db.json")))
	r.untilPods("web-node-1=a:2")
	if got := r.reasons(); len(got) > 0 {
		t.Errorf("events = %q, want none", got)
	}
}

func TestPodFromFileIsStaticPod(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yaml")
	write(t, path, podYAML("web", "a:1"))
	r, file := newFile(t, path)
	r.run(file.Run)
	r.untilPods("web-node-1=a:1")
	view, _ := r.Intake.Store.View(node.Key{Namespace: "default", Name: "web-node-1"})
	pod := view.Slot.Pod
	if pod.Source != node.SourceFile || pod.Origin != path {
		t.Errorf("source, origin = %s, %s, want file, %s", pod.Source, pod.Origin, path)
	}
	if got := pod.Object.Annotations["kubernetes.io/config.source"]; got != "file" {
		t.Errorf("config.source = %q, want file", got)
	}
	if got := pod.Object.Annotations["kubernetes.io/config.hash"]; got != string(pod.UID()) || got == "" {
		t.Errorf("config.hash = %q, want the uid %q", got, pod.UID())
	}
}

func TestWrongFileKeepsItsPod(t *testing.T) {
	cases := []struct {
		name, text, says, reason string
	}{
		{"half written", podYAML("web", "a:2")[:40], "", ReasonInvalid},
		{"an unknown field", podYAML("web", "a:2") + "  imagee: x\n", "spec.imagee", ReasonInvalid},
		{"a broken rule", podYAML("web", "''"), "document 0 (Pod default/web): spec.containers[0].image", ReasonInvalid},
		{"a field that the node refuses", podYAML("web", "a:2") + "  activeDeadlineSeconds: 5\n",
			"spec.activeDeadlineSeconds: not supported by this node", ReasonInvalid},
		{"empty", "", "at least one document", ReasonInvalid},
		{"too large", podYAML("web", "a:2") + strings.Repeat("#", maxFile), "more than 1048576 bytes", ReasonInvalid},
		{"a name that is too long with the node's", podYAML(strings.Repeat("w", 250), "a:2"), "metadata.name", ReasonInvalid},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "web.yaml")
			write(t, path, podYAML("web", "a:1"))
			r, file := newFile(t, dir)
			r.run(file.Run)
			r.untilPods("web-node-1=a:1")

			write(t, path, c.text)
			r.until("the board shows the error", func() bool { return r.errors()["web.yaml"] != "" })
			if got := r.errors()["web.yaml"]; !strings.Contains(got, c.says) {
				t.Errorf("error = %q, want it to say %q", got, c.says)
			}
			if got, want := r.reasons(), []string{c.reason}; !slices.Equal(got, want) {
				t.Errorf("events = %q, want %q", got, want)
			}
			// Other files go on.
			write(t, filepath.Join(dir, "db.yaml"), podYAML("db", "b:1"))
			r.untilPods("db-node-1=b:1 web-node-1=a:1")

			write(t, path, podYAML("web", "a:3"))
			r.untilPods("db-node-1=b:1 web-node-1=a:3")
			r.until("the board is clear", func() bool { return len(r.errors()) == 0 })
		})
	}
}

func TestSoundDocumentGoesOnBesideWrongOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "two.yaml")
	write(t, path, podYAML("a", "a:1")+"---\n"+podYAML("b", "b:1"))
	r, file := newFile(t, dir)
	r.run(file.Run)
	r.untilPods("a-node-1=a:1 b-node-1=b:1")

	write(t, path, podYAML("a", "a:1")+"---\n"+podYAML("b", "''")+"---\n"+podYAML("c", "c:1"))
	r.untilPods("a-node-1=a:1 b-node-1=b:1 c-node-1=c:1")
	r.until("the board names the document", func() bool {
		return strings.Contains(r.errors()["two.yaml"], "document 1 (Pod default/b): spec.containers[0].image")
	})
}

func TestWriterThatPausesIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	r, file := newFile(t, dir)
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

func TestTwoFilesThatNameOnePod(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.yaml"), podYAML("web", "b:1"))
	r, file := newFile(t, dir)
	r.run(file.Run)
	r.untilPods("web-node-1=b:1")

	// The file that has the pod keeps it, though another one comes first.
	write(t, filepath.Join(dir, "a.yaml"), podYAML("web", "a:1"))
	r.until("the board shows the conflict", func() bool { return strings.Contains(r.errors()["a.yaml"], "b.yaml already") })
	if got, want := r.pods(), "web-node-1=b:1"; got != want {
		t.Errorf("pods = %s, want %s", got, want)
	}
	// Even while it cannot be read.
	write(t, filepath.Join(dir, "b.yaml"), "{")
	r.until("the board shows both", func() bool { return len(r.errors()) == 2 })
	if got, want := r.pods(), "web-node-1=b:1"; got != want {
		t.Errorf("pods = %s, want %s", got, want)
	}
	must(t, os.Remove(filepath.Join(dir, "b.yaml")))
	r.untilPods("web-node-1=a:1")
}

func TestPodOfTheAPIIsNotTakenOver(t *testing.T) {
	dir := t.TempDir()
	r, file := newFile(t, dir)
	file.poll = 5 * time.Millisecond
	r.post("web")
	write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "file:1"))
	r.run(file.Run)
	r.until("the board shows the conflict", func() bool { return strings.Contains(r.errors()["web.yaml"], "belongs to source api") })
	if got, want := r.reasons(), []string{ReasonNotTaken}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
	// Once the name is free, the next poll takes it.
	_, err := r.Intake.Store.Transact(func(tx *node.Tx) error {
		tx.Put(node.Key{Namespace: "default", Name: "web-node-1"}, nil)
		return nil
	})
	must(t, err)
	r.untilPods("web-node-1=file:1")
}

func TestFullDiskIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	r, file := newFile(t, dir)
	file.poll = 5 * time.Millisecond
	r.journal.refuse(node.ErrNoSpace)
	write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
	r.run(file.Run)
	r.until("the board shows the error", func() bool { return r.errors()["web.yaml"] != "" })
	r.journal.refuse(nil)
	r.untilPods("web-node-1=a:1")
	if got, want := r.reasons(), []string{ReasonNotTaken}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
}

func TestWhatIsNoManifestIsPassedBy(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".hidden.yaml"), podYAML("hidden", "a:1"))
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

func TestMissingDirectory(t *testing.T) {
	t.Run("at the start it delivers nothing and is waited for", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "later")
		r, file := newFile(t, dir)
		r.run(file.Run)
		r.until("the source has delivered", r.ready)
		r.until("the board shows the error", func() bool { return r.errors()["later"] != "" })
		must(t, os.Mkdir(dir, 0o700))
		r.until("the board is clear", func() bool { return len(r.errors()) == 0 })
		write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
		r.untilPods("web-node-1=a:1")
	})
	t.Run("at the start it keeps the pods of before", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "pods")
		must(t, os.Mkdir(dir, 0o700))
		write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
		r, before := newFile(t, dir)
		watch := openWatch()
		defer watch.close()
		before.turn(watch, true)
		must(t, os.RemoveAll(dir))
		after := NewFile(FileConfig{Path: dir, Sink: r.Sink})
		after.turn(watch, true)
		if got, want := r.pods(), "web-node-1=a:1"; got != want {
			t.Errorf("pods = %s, want %s", got, want)
		}
	})
	t.Run("later it keeps the pods and says so", func(t *testing.T) {
		root := t.TempDir()
		dir := filepath.Join(root, "pods")
		must(t, os.Mkdir(dir, 0o700))
		write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
		r, file := newFile(t, dir)
		file.poll = 5 * time.Millisecond
		r.run(file.Run)
		r.untilPods("web-node-1=a:1")
		must(t, os.Rename(dir, filepath.Join(root, "away")))
		r.until("the board shows the error", func() bool { return r.errors()["pods"] != "" })
		if got, want := r.pods(), "web-node-1=a:1"; got != want {
			t.Errorf("pods = %s, want %s", got, want)
		}
		must(t, os.Rename(filepath.Join(root, "away"), dir))
		r.until("it has recovered", func() bool { return len(r.errors()) == 0 })
		if got, want := r.reasons(), []string{ReasonUnavailable, ReasonRecovered}; !slices.Equal(got, want) {
			t.Errorf("events = %q, want %q", got, want)
		}
	})
}

func TestSingleFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".static.yaml")
	write(t, path, podYAML("web", "a:1"))
	write(t, filepath.Join(filepath.Dir(path), "other.yaml"), podYAML("other", "a:1"))
	r, file := newFile(t, path)
	r.run(file.Run)
	r.untilPods("web-node-1=a:1")
	write(t, path, podYAML("web", "a:2"))
	r.untilPods("web-node-1=a:2")
	must(t, os.Remove(path))
	r.untilPods("")
}

func TestSingleFileThatWentWhileNobodyLooked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yaml")
	write(t, path, podYAML("web", "a:1"))
	r, before := newFile(t, path)
	watch := openWatch()
	defer watch.close()
	before.turn(watch, true)
	must(t, os.Remove(path))
	NewFile(FileConfig{Path: path, Sink: r.Sink}).turn(watch, true)
	if got := r.pods(); got != "" {
		t.Errorf("pods = %s, want none", got)
	}
}

func TestPollWithoutInotify(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	write(t, path, podYAML("web", "a:1"))
	r, file := newFile(t, dir)
	watch := &watch{broken: errors.New("none to spare")}
	file.turn(watch, true)
	if got, want := r.pods(), "web-node-1=a:1"; got != want {
		t.Fatalf("pods = %s, want %s", got, want)
	}

	write(t, path, podYAML("web", "a:2"))
	if wait := file.turn(watch, true); wait <= 0 || wait > settled {
		t.Errorf("a file that was just written is looked at again after %s, want up to %s", wait, settled)
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
	must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)))
	file.turn(watch, true)
	if got := r.Intake.Store.Revision(); got != revision {
		t.Errorf("revision after a touch = %d, want %d", got, revision)
	}
}

func TestRestartChangesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "web.yaml"), podYAML("web", "a:1"))
	r, file := newFile(t, dir)
	watch := openWatch()
	defer watch.close()
	file.turn(watch, true)
	revision := r.Intake.Store.Revision()
	NewFile(FileConfig{Path: dir, Sink: r.Sink}).turn(watch, true)
	if got := r.Intake.Store.Revision(); got != revision {
		t.Errorf("revision = %d, want %d", got, revision)
	}
}

// age makes a file old enough to be taken for whole.
func age(t testing.TB, path string) {
	t.Helper()
	then := time.Now().Add(-time.Minute)
	must(t, os.Chtimes(path, then, then))
}
