package journal

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

// ballastSize is room for some deletion marks of ordinary pods at once.
const ballastSize = 256 << 10

// ballast is a file that only takes up space, until a deletion needs that space.
type ballast struct {
	disk disk
	path string
	log  *slog.Logger

	mu   sync.Mutex
	held bool
}

func newBallast(d disk, path string, log *slog.Logger) *ballast {
	info, err := os.Stat(path)
	held := err == nil && info.Size() == ballastSize
	return &ballast{disk: d, path: path, log: log, held: held}
}

// fill takes the space if it is not taken. A full disk is no error: the next deletion tries
// again.
func (b *ballast) fill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		return
	}
	if err := b.disk.create(b.path, weight(ballastSize)); err != nil {
		b.log.Warn("cannot reserve disk space for deletions in the journal", "file", b.path, "err", err)
		return
	}
	b.held = true
}

// weight returns random bytes, because some file systems store zeros and repetition in no space.
func weight(size int) []byte {
	made := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(made)
	return made
}

// release gives the space back to the disk.
func (b *ballast) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.held {
		return
	}
	b.log.Warn("the disk is full: the journal uses the space reserved for deletions", "file", b.path)
	err := b.disk.remove(b.path)
	if err == nil {
		b.held = false
		// Some file systems free the space of a file only with the next sync.
		err = b.disk.sync(filepath.Dir(b.path))
	}
	if err != nil {
		b.log.Error("cannot release the space reserved for deletions", "file", b.path, "err", err)
	}
}
