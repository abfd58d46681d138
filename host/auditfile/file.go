package auditfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"nodal/node"
)

// Config says where the lines are kept, and how many.
type Config struct {
	Path     string
	MaxBytes int64 // of one file
	Backups  int   // files besides the present one; at least 1
}

// reserve is the space ahead of the last line that a full disk cannot take.
const reserve = 256 << 10

// File is an append-only file of lines. Its methods may be called side by side.
type File struct {
	cfg  Config
	bell node.Bell

	mu       sync.Mutex
	open     *os.File // nil if it has to be opened again
	size     int64
	reserved int64 // the end of the reserved space
	torn     bool  // the file ends within a line
	spare    spare // for lines that are not in the file yet
	recent   recent
}

// New returns a file that is opened by its first line.
func New(cfg Config) *File { return &File{cfg: cfg, spare: spare{path: cfg.Path + ".spare"}} }

// Prepare makes the directory of the file, and opens it. An error is not final: Append tries again.
func (f *File) Prepare() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := os.MkdirAll(filepath.Dir(f.cfg.Path), 0o700)
	if err == nil {
		err = f.ready(0)
	}
	if err != nil {
		return f.failed(err)
	}
	return nil
}

// Append adds a line, which holds no newline. After an error the file is as it was before.
func (f *File) Append(line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.append(line); err != nil {
		return f.failed(err)
	}
	f.tell(line)
	return nil
}

// AppendReserved is Append for a line that a full disk must not refuse. If it does, the line waits in the spare room,
// where it may overwrite the oldest of those that wait; their number is returned.
func (f *File) AppendReserved(line []byte) (displaced int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.append(line)
	if full := errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT); full && f.spare.file != nil {
		displaced, err = f.spare.add(line)
	}
	if err != nil {
		return displaced, f.failed(err)
	}
	f.tell(line)
	return displaced, nil
}

// append adds a line to the file, behind those that have waited for it.
func (f *File) append(line []byte) error {
	waited := f.spare.lines()
	text := append(bytes.Join(append(waited, line), []byte("\n")), '\n')
	if err := f.ready(int64(len(text)) + 1); err != nil {
		return err
	}
	if f.torn {
		text = append([]byte("\n"), text...)
	}
	if err := f.write(text); err != nil {
		return err
	}
	f.spare.clear()
	return nil
}

// tell passes a line that was kept to followers.
func (f *File) tell(line []byte) {
	f.recent.add(line)
	f.bell.Ring()
}

func (f *File) failed(err error) error { return fmt.Errorf("audit log %q: %w", f.cfg.Path, cause(err)) }

// cause returns the error without the path, which failed names.
func cause(err error) error {
	var at *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return fmt.Errorf("%s: %w", at.Op, at.Err)
	case errors.As(err, &link):
		return fmt.Errorf("%s: %w", link.Op, link.Err)
	}
	return err
}

// ready opens the file if need be, and makes room for more bytes.
func (f *File) ready(more int64) error {
	if f.open != nil && !f.isPresent() {
		f.close()
	}
	if f.open == nil {
		if err := f.openFile(); err != nil {
			return err
		}
	}
	if f.size > 0 && f.size+more > f.cfg.MaxBytes {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	if f.size+more+reserve/2 > f.reserved {
		// Not every file system can reserve space. The write itself shows whether there is some.
		if unix.Fallocate(int(f.open.Fd()), unix.FALLOC_FL_KEEP_SIZE, f.size, reserve) == nil {
			f.reserved = f.size + reserve
		}
	}
	return nil
}

// isPresent reports whether the path still leads to the open file.
func (f *File) isPresent() bool { return samePlace(f.open, f.cfg.Path) }

func samePlace(file *os.File, path string) bool {
	now, err := os.Lstat(path)
	if err != nil {
		return false
	}
	opened, err := file.Stat()
	return err == nil && os.SameFile(now, opened)
}

func (f *File) close() {
	_ = f.open.Close() // every write has been checked
	f.open = nil
}

func (f *File) openFile() error {
	// Not a link, which could lead anywhere, and not a pipe, on which an open would wait.
	flags := os.O_RDWR | os.O_APPEND | os.O_CREATE | unix.O_NOFOLLOW | unix.O_NONBLOCK
	opened, err := os.OpenFile(f.cfg.Path, flags, 0o600)
	if err != nil {
		return err
	}
	info, err := opened.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is no regular file")
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = opened.Chmod(0o600)
	}
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	last := []byte{'\n'}
	if info.Size() > 0 {
		if _, err := opened.ReadAt(last, info.Size()-1); err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(err, opened.Close())
		}
	}
	f.open, f.size, f.reserved, f.torn = opened, info.Size(), 0, last[0] != '\n'
	_ = f.spare.prepare() // without it a full disk refuses every line
	return nil
}

// write appends bytes, or leaves the file as it was.
func (f *File) write(text []byte) error {
	n, err := f.open.Write(text)
	if err == nil {
		f.size += int64(n)
		f.torn = false
		return nil
	}
	if n > 0 && f.open.Truncate(f.size) != nil {
		f.size, f.torn = f.size+int64(n), true
	}
	f.reserved = 0
	f.close() // the next line finds out whether the file has come back
	return err
}

// rotate moves the files on by one, and opens a new one.
func (f *File) rotate() error {
	_ = f.open.Truncate(f.size) // gives back the reserved space
	f.close()
	// Only as far as the first gap: where the present file cannot be moved, another try must not push out the oldest.
	free := 1
	for free < f.cfg.Backups && exists(f.backup(free)) {
		free++
	}
	for age := free; age > 0; age-- {
		if err := os.Rename(f.backup(age-1), f.backup(age)); err != nil {
			return fmt.Errorf("rotate: %w", err)
		}
	}
	return f.openFile()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// backup returns the path of the file that is so many files older than the present one.
func (f *File) backup(age int) string {
	if age == 0 {
		return f.cfg.Path
	}
	return fmt.Sprintf("%s.%d", f.cfg.Path, age)
}
