package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// newFile returns a source that polls once an hour: it sees changes by their notice alone.
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
		{"a broken rule", podYAML("web", "''"), "document 1 (Pod default/web): spec.containers[0].image", ReasonInvalid},
		{"a field that the node refuses", podYAML("web", "a:2") + "  resourceClaims: [{name: gpu, resourceClaimName: gpu}]\n",
			"spec.resourceClaims: not supported by this node", ReasonInvalid},
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
		return strings.Contains(r.errors()["two.yaml"], "document 2 (Pod default/b): spec.containers[0].image")
	})
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
	_, err := r.Intake.Store.Transact(func(tx *store.Tx) error {
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
