package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nodal/agent/config"
	"nodal/host/journal"
	"nodal/host/podfiles"
	"nodal/host/thread"
	"nodal/host/volume"
)

func TestNothingIsCleanedUnderARunningAgent(t *testing.T) {
	root := t.TempDir()
	j, err := journal.Open((config.Dirs{Root: root}).Journal(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := clean(t.Context(), config.Dirs{Root: root}, io.Discard); err == nil || !strings.Contains(err.Error(), "stop the kubelet first") {
		t.Errorf("got error %v, want that the agent has to be stopped", err)
	}
}

func TestDirectoriesOfPodsStayForAnotherTry(t *testing.T) {
	dir := t.TempDir()
	dirs := config.Dirs{Root: filepath.Join(dir, "node"), PodLogs: filepath.Join(dir, "logs", "pods")}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pod := filepath.Join(dirs.Root, "pods", "some-uid")
	files := podfiles.Tree{Root: dirs.Pods(), Mark: volume.Ours}
	if _, err := files.WriteHosts("some-uid", "127.0.0.1 localhost\n"); err != nil {
		t.Fatal(err)
	}
	write(dirs.PodLogs, "no directory")
	if err := cleanPods(t.Context(), dirs, io.Discard); err == nil {
		t.Error("logs that cannot be removed are not told")
	}
	if _, err := os.Stat(pod); err != nil {
		t.Errorf("with logs left: %v", err)
	}
	if err := os.Remove(dirs.PodLogs); err != nil { // it is not the agent's to remove
		t.Error(err)
	}
	if err := cleanPods(t.Context(), dirs, io.Discard); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(pod)); err == nil {
		t.Error("the pods' directory is still there")
	}
}

// Another kubelet has the same names for all that it keeps for its pods.
func TestCleanLeavesAnotherKubeletsPods(t *testing.T) {
	dir := t.TempDir()
	dirs := config.Dirs{Root: filepath.Join(dir, "node"), PodLogs: filepath.Join(dir, "logs", "pods")}
	token := filepath.Join(dirs.Root, "pods", "theirs", "volumes", "token")
	log := filepath.Join(dirs.PodLogs, "default_web_theirs", "web", "0.log")
	ours := filepath.Join(dirs.PodLogs, "default_web_ours")
	for _, file := range []string{token, log, filepath.Join(ours, "web", "0.log")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	files := podfiles.Tree{Root: dirs.Pods(), Mark: volume.Ours}
	if _, err := files.MakeMessage(podfiles.Run{UID: "ours", Container: "web"}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := cleanPods(t.Context(), dirs, &out); err != nil || !strings.Contains(out.String(), files.Root) {
		t.Errorf("got %q (%v), want to be told what stays", &out, err)
	}
	for path, want := range map[string]bool{token: true, log: true, ours: false, filepath.Join(files.Root, "ours"): false} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", path, err, want)
		}
	}
}

func TestCleanRefusesTheRootOfAnotherKubelet(t *testing.T) {
	dirs := config.Dirs{Root: t.TempDir(), PodLogs: filepath.Join(t.TempDir(), "pods")}
	key := filepath.Join(dirs.Root, "pki", "kubelet.key")
	if err := errors.Join(os.Mkdir(filepath.Dir(key), 0o700), os.WriteFile(key, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := clean(t.Context(), dirs, io.Discard); err == nil || !strings.Contains(err.Error(), dirs.Root) {
		t.Errorf("got %v, want it refused", err)
	}
	if _, err := os.Stat(key); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Dir(key)); err != nil {
		t.Fatal(err)
	}
	for name, marks := range map[string][]string{"nothing": nil, "a journal": {"journal"}, "a runtime": {"runtime"}} {
		for _, mark := range marks {
			if err := os.Mkdir(filepath.Join(dirs.Root, mark), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if clean, err := checkOurs(dirs.Root); clean || err != nil {
			t.Errorf("with %s in it: %v, %v", name, clean, err)
		}
		for _, mark := range marks {
			if err := os.Remove(filepath.Join(dirs.Root, mark)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if clean, err := checkOurs(filepath.Join(dirs.Root, "gone")); clean || err != nil {
		t.Errorf("where none is: %v, %v", clean, err)
	}
}

// systemd's journal, in /var/log, has the name of a node's.
func TestCleanRefusesARootWithAJournalOrRuntimeOfAnotherProgram(t *testing.T) {
	for _, c := range []struct{ name, foreign, ours string }{
		{"a journal", "journal/4c4c4544/system.journal", ""},
		{"a journal in a node's root", "journal/4c4c4544/system.journal", "runtime/lock"},
		{"a runtime", "runtime/bin/java", ""},
		{"a runtime in a node's root", "runtime/bin/java", "journal/records/node.rec"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dirs := config.Dirs{Root: t.TempDir(), PodLogs: filepath.Join(t.TempDir(), "pods")}
			kept := []string{"images/one.tar", c.foreign}
			if c.ours != "" {
				kept = append(kept, c.ours)
			}
			for _, name := range kept {
				file := filepath.Join(dirs.Root, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if err := clean(t.Context(), dirs, io.Discard); err == nil || !strings.Contains(err.Error(), "another program") {
				t.Errorf("got %v, want it refused", err)
			}
			for _, name := range kept {
				if _, err := os.Stat(filepath.Join(dirs.Root, name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A root without a node is no error, and files of other programs stay.
func TestCleanLeavesARootWithoutANode(t *testing.T) {
	dirs := config.Dirs{Root: t.TempDir(), PodLogs: filepath.Join(t.TempDir(), "pods")}
	kept := []string{filepath.Join(dirs.Root, "config.yaml"), filepath.Join(dirs.Root, "images", "one.tar"), filepath.Join(dirs.LocalVolumes(), "claim", "data")}
	for _, file := range kept {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := clean(t.Context(), dirs, &out); err != nil || !strings.Contains(out.String(), dirs.Root) {
		t.Errorf("got %q (%v), want to be told what stays", &out, err)
	}
	for _, file := range kept {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}

func TestTheDataOfClaimsStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "local-volumes")
	var out bytes.Buffer
	data := filepath.Join(dir, "claim")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := keepVolumes(dir, &out); err != nil || !strings.Contains(out.String(), dir) {
		t.Errorf("with data: %q (%v), want to be told where they are", &out, err)
	}
	if err := os.Remove(data); err != nil { // they have stayed
		t.Error(err)
	}
	out.Reset()
	for range 2 {
		if err := keepVolumes(dir, &out); err != nil || out.Len() > 0 {
			t.Errorf("without data: %q (%v), want not a word", &out, err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("an empty directory stays")
	}
}

func TestCleanPrintsWhereTheDataOfClaimsAre(t *testing.T) {
	dir, elsewhere := filepath.Join(t.TempDir(), "local-volumes"), t.TempDir()
	var out bytes.Buffer
	if err := errors.Join(os.Symlink(elsewhere, dir), os.Mkdir(filepath.Join(elsewhere, "claim"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := keepVolumes(dir, &out); err != nil || !strings.Contains(out.String(), filepath.Base(elsewhere)) {
		t.Errorf("behind a link: %q (%v), want to be told of %s", &out, err, elsewhere)
	}
	if _, err := os.Lstat(dir); err != nil {
		t.Errorf("the link: %v", err)
	}
}

func TestMountPointsAreEmptiedAndStay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	node := t.TempDir()
	images, volumes := filepath.Join(node, "images"), filepath.Join(node, "local-volumes")
	err := inOwnMounts(func() error {
		for _, dir := range []string{node, images, volumes} {
			if err := errors.Join(os.MkdirAll(dir, 0o700), unix.Mount("none", dir, "tmpfs", 0, "")); err != nil {
				return fmt.Errorf("mount: %w", err)
			}
		}
		if err := os.WriteFile(filepath.Join(images, "one"), nil, 0o600); err != nil {
			return err
		}
		err := errors.Join(keepVolumes(volumes, io.Discard), remove(node, ownFiles), removeUnlessUsed(node))
		if left, unread := os.ReadDir(images); unread != nil || len(left) > 0 {
			err = errors.Join(err, unread, fmt.Errorf("left are %v", left))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// inOwnMounts runs a function in a mount namespace of its own.
func inOwnMounts(do func() error) error {
	return thread.Own(func() error {
		err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = do()
		}
		return err
	})
}

func TestCleanLeavesWhatBelongsToDevicePlugins(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"kubelet.sock", "known-resources", "gpu.sock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := cleanDevices(dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "gpu.sock" {
		t.Errorf("%v is left, %v; want the plugin's socket alone", left, err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "gpu.sock")), cleanDevices(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the empty directory is left: %v", err)
	}
}
