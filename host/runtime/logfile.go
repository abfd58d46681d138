package runtime

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxLog bounds containerd's log: this much now, and as much from before.
const maxLog = 8 << 20

// trimLog moves the end of a log that grew too long to a second file, and empties it. The file itself stays, because
// containerd holds it open and appends. A line that is written between copying and cutting is lost.
func trimLog(path string) error {
	log, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("trim containerd's log: %w", err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("trim containerd's log: %w", err)
	}
	if info.Size() <= maxLog {
		return nil
	}
	if err := keepTail(log, info.Size(), path+".1"); err != nil {
		// On a full disk the old lines are given up.
		return errors.Join(fmt.Errorf("trim containerd's log: %w", err), log.Truncate(0))
	}
	return log.Truncate(0)
}

func keepTail(log *os.File, size int64, path string) error {
	old, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(old, io.NewSectionReader(log, max(0, size-maxLog), maxLog))
	return errors.Join(err, old.Close())
}
