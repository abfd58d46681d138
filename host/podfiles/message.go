package podfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"nodal/node"
)

// maxMessage bounds the termination message that is read.
const maxMessage = 4096

// MakeMessage makes the file for a run's termination message, and returns its path. An
// existing file stays: a repeated call is no new run.
func (t Tree) MakeMessage(run Run) (string, error) {
	if err := run.check(); err != nil {
		return "", err
	}
	root, err := t.open()
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := t.makeMessage(root, run); err != nil {
		return "", fmt.Errorf("make the termination message file of container %s: %w", run.Container, err)
	}
	return filepath.Join(t.Root, run.file()), nil
}

func (t Tree) makeMessage(root *os.Root, run Run) error {
	if err := t.makePod(run.UID); err != nil {
		return err
	}
	if err := root.MkdirAll(run.dir(), 0o750); err != nil {
		return err
	}
	file, err := root.OpenFile(run.file(), os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	// Every user must be able to write, whatever our umask is.
	return errors.Join(file.Chmod(0o666), file.Close())
}

// Message returns a run's termination message: its end, if it is long. A run without a file
// has none.
func (t Tree) Message(run Run) (string, error) {
	if err := run.check(); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(t.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("open the directory of pods' files: %w", err)
	}
	defer root.Close()
	text, err := readMessage(root, run.file())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the termination message of container %s: %w", run.Container, err)
	}
	return text, nil
}

func readMessage(root *os.Root, name string) (string, error) {
	file, err := openWritten(root, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.NewSectionReader(file, max(0, size-maxMessage), maxMessage))
	// The message is sent as text, and a program may write other bytes.
	return strings.ToValidUTF8(string(text), "\uFFFD"), err
}

// readStart reads the first bytes of a file that containers may write to: it can be of
// any size.
func readStart(root *os.Root, name string, most int) ([]byte, error) {
	file, err := openWritten(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, int64(most)))
}

// openWritten opens a file that containers may write to. It does not block if there is no regular file in that place.
func openWritten(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is not a regular file: %w", node.ErrInvalid)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
