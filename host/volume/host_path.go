package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	corev1 "k8s.io/api/core/v1"
)

// setUpHostPath checks that the path on the machine is of the type that the pod expects.
func (t *Tree) setUpHostPath(_ context.Context, at place) error {
	path, want := at.volume.HostPath.Path, corev1.HostPathUnset
	if at.volume.HostPath.Type != nil {
		want = *at.volume.HostPath.Type
	}
	var err error
	switch want {
	case corev1.HostPathUnset:
		return nil
	case corev1.HostPathDirectoryOrCreate:
		err = makeHostDir(path)
	case corev1.HostPathFileOrCreate:
		err = makeHostFile(path)
	}
	if err != nil {
		return err
	}
	return checkHostPath(path, want)
}

func makeHostDir(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // the check reports the error, if it is one
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("make the directory on the host: %w", err)
	}
	return nil
}

func makeHostFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the file on the host: %w", err)
	}
	return f.Close()
}

// expectation describes a type of hostPath, in Kubernetes' words.
type expectation struct {
	words string
	holds func(fs.FileMode) bool
}

func expectationOf(want corev1.HostPathType) expectation {
	switch want {
	case corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate:
		return expectation{"a directory", fs.FileMode.IsDir}
	case corev1.HostPathFile, corev1.HostPathFileOrCreate:
		return expectation{"a file", fs.FileMode.IsRegular}
	case corev1.HostPathSocket:
		return expectation{"a socket file", func(m fs.FileMode) bool { return m.Type() == fs.ModeSocket }}
	case corev1.HostPathCharDev:
		return expectation{"a character device", func(m fs.FileMode) bool { return m.Type() == fs.ModeDevice|fs.ModeCharDevice }}
	}
	return expectation{"a block device", func(m fs.FileMode) bool { return m.Type() == fs.ModeDevice }}
}

func checkHostPath(path string, want corev1.HostPathType) error {
	expected := expectationOf(want)
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("hostPath type check failed: %w", err)
	}
	if err != nil || !expected.holds(info.Mode()) {
		return fmt.Errorf("hostPath type check failed: %s is not %s", path, expected.words)
	}
	return nil
}
