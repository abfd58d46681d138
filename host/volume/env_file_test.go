package volume

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

func TestFilesAreOpenedInTheVolumeAlone(t *testing.T) {
	b := newBench(t)
	p := pod(emptyDir())
	dir := b.setUp(p)
	b.write(dir, "sub/env", "inside")
	outside := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		os.Symlink("sub/env", filepath.Join(dir, "link")), os.Symlink("/sub/env", filepath.Join(dir, "absolute")),
		os.Symlink("../../../../../../../../../../../.."+outside, filepath.Join(dir, "leaves")), os.Symlink(outside, filepath.Join(dir, "away")),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Truncate(mustCreate(t, filepath.Join(dir, "large")), maxEnvFile+1),
	); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want, wrong string }{
		{"sub/env", "inside", ""},
		{"link", "inside", ""},
		{"absolute", "inside", ""},
		{"leaves", "", "no such file"},
		{"away", "", "no such file"},
		{"none", "", "no such file"},
		{"pipe", "", "it is no regular file"},
		{"sub", "", "it is no regular file"},
		{"large", "", "it has more than"},
	} {
		got, wrong := "", ""
		file, err := b.OpenFile(p.Object, "v", c.path)
		if err == nil {
			var data []byte
			data, err = io.ReadAll(file)
			got = string(data)
			file.Close()
		}
		if err != nil {
			got, wrong = "", err.Error()
		}
		if got != c.want || !strings.Contains(wrong, c.wrong) || c.wrong == "" && wrong != "" {
			t.Errorf("%s: got %q, %q; want %q, %q", c.path, got, wrong, c.want, c.wrong)
		}
	}
	if _, err := b.OpenFile(pod(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}}).Object, "v", "link"); err == nil {
		t.Error("a file of another kind of volume is opened")
	}
}

func mustCreate(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
