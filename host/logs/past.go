package logs

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"nodal/node"
)

// A log that has grown too long is renamed, and packed later:
//
//	0.log                        what the runtime writes to
//	0.log.20260102-150405        rotated away; late lines may still follow
//	0.log.20260101-090000.gz     rotated away before
//
// The stamps only grow, whatever the clock does, so that their order is that of
// the lines.
const (
	packedSuffix = ".gz"
	draftSuffix  = ".tmp" // of a file that is being packed
)

var stampText = regexp.MustCompile(`^\d{8}-\d{6}$`)

// stampsOf lists the stamps of a log's rotated files, oldest first. A file that has just been
// packed may exist in both forms.
func stampsOf(dir fs.FS, base string) ([]string, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, fmt.Errorf("find rotated logs: %w", err)
	}
	var stamps []string
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), base+".")
		stamp := strings.TrimSuffix(rest, packedSuffix)
		if ok && entry.Type().IsRegular() && stampText.MatchString(stamp) {
			stamps = append(stamps, stamp)
		}
	}
	slices.Sort(stamps)
	return slices.Compact(stamps), nil
}

// past holds the files that were rotated away from a log before src was written.
type past struct {
	place
	old []string // their stamps
}

func pastOf(where place, src *source) (past, error) {
	p := past{place: where}
	stamps, err := where.stamps()
	if err != nil {
		return p, err
	}
	current, err := src.file.Stat()
	if err != nil {
		return p, fmt.Errorf("look at log: %w", err)
	}
	for _, stamp := range stamps {
		// Rotated since it was opened: it is the present file, and what follows
		// it is the future.
		info, err := where.lstat("." + stamp)
		if src.stamp == stamp || err == nil && os.SameFile(info, current) {
			break
		}
		p.old = append(p.old, stamp)
	}
	return p, nil
}

// last returns the newest stamp, or "" if nothing was rotated.
func (p past) last() string {
	if len(p.old) == 0 {
		return ""
	}
	return p.old[len(p.old)-1]
}

// begin finds where the wanted lines begin: a file of the past and an offset in it, or a place in src, to which it
// moves.
func (p past) begin(src *source, opts node.LogOptions) (file int, offset int64, err error) {
	if opts.Tail == nil {
		return p.since(opts.Since.Add(-slack)), 0, src.begin(0, opts.Since)
	}
	tail := tail{left: *opts.Tail, stream: opts.Stream}
	offset, found, err := tail.start(src.file)
	if err != nil {
		return 0, 0, err
	}
	if found || len(p.old) == 0 {
		return len(p.old), 0, src.seek(offset)
	}
	for i := len(p.old) - 1; i >= 0; i-- {
		offset, found, err := p.startIn(p.old[i], &tail)
		if err != nil || found {
			return i, offset, err
		}
	}
	return 0, 0, nil
}

// since returns the index of the first file that was written to at t or later.
func (p past) since(t time.Time) int {
	for i, stamp := range p.old {
		for _, suffix := range []string{"", packedSuffix} {
			info, err := p.lstat("." + stamp + suffix)
			if err == nil && !info.ModTime().Before(t) {
				return i
			}
		}
	}
	return len(p.old)
}

func (p past) startIn(stamp string, t *tail) (offset int64, found bool, err error) {
	src, err := openRotated(p.place, stamp)
	if errors.Is(err, node.ErrNotFound) {
		return 0, false, nil // dropped meanwhile, as the oldest are
	}
	if err != nil {
		return 0, false, err
	}
	defer src.file.Close()
	return t.start(src.file)
}

// openRotated opens the rotated file of a stamp, packed or not.
func openRotated(p place, stamp string) (*source, error) {
	src, err := openSource(p, "."+stamp)
	if errors.Is(err, node.ErrNotFound) {
		src, err = openPacked(p, "."+stamp+packedSuffix)
	}
	if err != nil {
		return nil, err
	}
	src.stamp = stamp
	return src, nil
}

// openPacked unpacks a log into a file without a name: lines are searched from
// its end too.
func openPacked(p place, suffix string) (*source, error) {
	src, err := openSource(p, suffix)
	if err != nil {
		return nil, err
	}
	packed := src.file
	defer packed.Close()
	if src.file, err = unpack(packed); err != nil {
		return nil, fmt.Errorf("unpack log %q: %w", p.path+suffix, err)
	}
	src.in = src.file
	return src, nil
}

func unpack(packed io.Reader) (*os.File, error) {
	plain, err := os.CreateTemp("", "nodal-log-")
	if err != nil {
		return nil, err
	}
	if err = os.Remove(plain.Name()); err == nil {
		err = inflate(plain, packed)
	}
	if err == nil {
		_, err = plain.Seek(0, io.SeekStart)
	}
	if err != nil {
		plain.Close()
		return nil, err
	}
	return plain, nil
}

// inflate unpacks a file as far as it can: a damaged file does not hide the rest of the log.
func inflate(plain io.Writer, packed io.Reader) error {
	in, err := gzip.NewReader(packed)
	if err == nil {
		_, err = io.Copy(plain, in)
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return err
	}
	return nil
}
