package command

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nodal/agent/config"
	"nodal/host/journal"
	"nodal/host/podfiles"
	"nodal/host/volume"
)

func TestAPlanOfCleanNamesWhatGoesAndChangesNothing(t *testing.T) {
	dirs := config.Dirs{Root: t.TempDir(), PodLogs: t.TempDir()}
	j, err := journal.Open(dirs.Journal(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	files := podfiles.Tree{Root: dirs.Pods(), Mark: volume.Ours}
	if _, err := files.WriteHosts("some-uid", "127.0.0.1 localhost\n"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(dirs.Root, "pki"), filepath.Join(dirs.LocalVolumes(), "data")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	foreign := filepath.Join(dirs.Pods(), "theirs", "file")
	staged := filepath.Join(dirs.Staging(), "kubernetes.io", "csi", "disk.example.com", "hash", "file")
	for _, file := range []string{foreign, staged, filepath.Join(dirs.Root, "cpu_manager_state"), filepath.Join(dirs.DevicePlugins(), "kubelet.sock"), filepath.Join(dirs.DevicePlugins(), "gpu.sock")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dirs.Plugins(), 0o700); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dirs.Root)
	var out bytes.Buffer
	if err := planClean(dirs, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"remove 1 pods", "cpu_manager_state, pki, journal", "would stay in " + dirs.LocalVolumes(),
		"in " + dirs.DevicePlugins() + ": kubelet.sock\n", "empty directory " + dirs.Plugins(),
		"would stay staged in " + dirs.Staging(), "would stay in " + dirs.Pods(),
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %q in it", out.String(), want)
		}
	}
	if after := listing(t, dirs.Root); !slices.Equal(before, after) {
		t.Errorf("the plan has changed %v to %v", before, after)
	}
}

func TestCleanTakesItsDryRunFromTheNodesFlags(t *testing.T) {
	rest, dry := withoutDryRun([]string{"--root-dir", "/x", "--dry-run", "--v=2"})
	if want := []string{"--root-dir", "/x", "--v=2"}; !dry || !slices.Equal(rest, want) {
		t.Errorf("got %v %t, want %v", rest, dry, want)
	}
	if _, dry := withoutDryRun([]string{"--root-dir=/x"}); dry {
		t.Error("it plans without having been asked to")
	}
}

func TestCheckAndCleanSayWhatTheyDo(t *testing.T) {
	for verb, want := range map[string]string{"check": "changes nothing", "clean": "--dry-run"} {
		var out bytes.Buffer
		if code, _ := Run([]string{verb, "--help"}, Console{Out: &out, Err: &out}); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s --help: got code %d and %q, want %q in it", verb, code, out.String(), want)
		}
	}
}

// listing returns all paths below a directory.
func listing(t *testing.T, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
