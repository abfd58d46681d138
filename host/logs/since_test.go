package logs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

var dawn = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

func entryAt(at time.Time, text string) string {
	return at.Format(time.RFC3339Nano) + " stdout F " + text + "\n"
}

func hour(h float64) time.Time { return dawn.Add(time.Duration(h * float64(time.Hour))) }

// hours writes a log with an entry every three seconds.
func hours(from, to float64) string { return written(hour(from), hour(to), 3*time.Second) }

// seconds writes one with an entry every three milliseconds.
func seconds(from, to time.Duration) string {
	return written(dawn.Add(from*time.Second), dawn.Add(to*time.Second), 3*time.Millisecond)
}

func written(from, to time.Time, every time.Duration) string {
	var b strings.Builder
	for at := from; at.Before(to); at = at.Add(every) {
		b.WriteString(entryAt(at, "of a hundred bytes or so, as they are in many a log that is written"))
	}
	return b.String()
}

// TestSinceFindsWhereToBegin checks that no line is missed and that the file is not read from
// its start.
func TestSinceFindsWhereToBegin(t *testing.T) {
	const all = 1 << 30
	tests := []struct {
		name  string
		log   string
		since float64 // hours after dawn
		most  int     // bytes that are read in front of the first wanted entry, at most
	}{
		{"an empty log", "", 1, 0},
		{"a log of one block", hours(0, 0.2), 0.1, all},
		{"the last minute of ten hours", hours(0, 10), 10 - 1./60, 2 * blockSize},
		{"the middle", hours(0, 10), 4.3, 2 * blockSize},
		{"all", hours(2, 10), 1, 0},
		{"nothing", hours(0, 10), 11, 2 * blockSize},
		{"a last line that is torn", hours(0, 10) + "2026-01-02T09:59:59.5Z std", 9.9, 2 * blockSize},
		{"a torn line in the middle", hours(0, 4) + "2026-01-02T03:59" + hours(4, 10), 5, 2 * blockSize},
		{"lines that are no entries among them", strings.ReplaceAll(hours(0, 10), "0Z stdout", "0 stdout"), 7, 2 * blockSize},
		{"carriage returns", strings.ReplaceAll(hours(0, 10), "\n", "\r\n"), 7, 2 * blockSize},
		{"a hole before it", hours(0, 3) + strings.Repeat("\x00", 1<<20) + "\n" + hours(3, 10), 7, 2 * blockSize},
		{"a hole behind it", hours(0, 8) + strings.Repeat("\x00", 1<<20) + "\n" + hours(8, 10), 7, 2 * blockSize},
		{"a hole that nobody ends", hours(0, 8) + strings.Repeat("\x00", 1<<20), 7, 2 * blockSize},
		{"no entry at all", strings.Repeat("x\n", 1<<18), 7, all},
		{"no line at all", strings.Repeat("x", 3<<20), 7, all},
		{"a clock set back by half a minute", seconds(0, 62) + seconds(32, 100), 61. / 3600, all},
		{"a clock set back by an hour", hours(0, 5) + hours(4, 10), 4.5, 2 * blockSize},
		{"a clock that was a year ahead", strings.ReplaceAll(hours(0, 2), "2026", "2027") + hours(2, 10), 9.9, 0},
		{"one line of the past", withStray(hours(0, 10)), 6, 2 * blockSize},
		{"offsets from UTC", strings.ReplaceAll(hours(0, 10), "Z stdout", "+02:00 stdout"), 3, 2 * blockSize},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			since := hour(tt.since)
			got := startSince(strings.NewReader(tt.log), int64(len(tt.log)), since)
			if got > 0 && tt.log[got-1] != '\n' {
				t.Errorf("begins at %d, within a line", got)
			}
			if first := firstSince(tt.log, since); int(got) > first || first-int(got) > tt.most {
				t.Errorf("begins at %d, want %d or up to %d before it", got, first, tt.most)
			}
			path := writeLog(t, tt.log)
			opts := node.LogOptions{Since: since}
			if got, want := readAll(t, path, opts), naive(tt.log, opts); got != want {
				t.Errorf("got %d bytes, want %d", len(got), len(want))
			}
		})
	}
}

// withStray puts an entry that is far too old into a log, where the search looks.
func withStray(log string) string {
	stray := entryAt(dawn.AddDate(-1, 0, 0), "")
	place := (len(log) + len(stray)) / branches * 10
	place += strings.IndexByte(log[place:], '\n') + 1
	return log[:place] + stray + log[place:]
}

// firstSince returns the offset of the first entry that is not older, or the end.
func firstSince(log string, since time.Time) (offset int) {
	for line := range strings.SplitAfterSeq(log, "\n") {
		if e, ok := naiveParse(line); ok && !e.time.Before(since) {
			break
		}
		offset += len(line)
	}
	return offset
}

func TestSinceAgreesWithNaiveReader(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 30 {
		files, begin, end := datedLogs(r)
		opts := randomOptions(r)
		opts.Since = begin.Add(time.Duration(r.Int64N(int64(end.Sub(begin)) + 1)))
		opts.LimitBytes = nil
		if opts.Follow = r.IntN(2) == 0; opts.Follow {
			exited := make(chan struct{})
			close(exited)
			opts.Exited = exited
		}
		if r.IntN(4) > 0 {
			opts.Tail = nil
		}
		path := writeLogs(t, r, files)
		if got, want := readAll(t, path, opts), naive(joined(files), opts); got != want {
			t.Fatalf("seed %d, round %d, %d files, %s: got %d bytes, want %d\n%.500q\n%.500q",
				seed, i, len(files), describe(opts), len(got), len(want), got, want)
		}
	}
}

// datedFile is a part of a log that was written until a time.
type datedFile struct {
	text string
	end  time.Time
}

func joined(files []datedFile) string {
	var b strings.Builder
	for _, f := range files {
		b.WriteString(f.text)
	}
	return b.String()
}

// writeLogs writes files as a rotation leaves them.
func writeLogs(t *testing.T, r *rand.Rand, files []datedFile) string {
	t.Helper()
	last := len(files) - 1
	path := writeLog(t, files[last].text)
	for i, f := range files[:last] {
		name, content := fmt.Sprintf("%s.20260102-15040%d", path, i), []byte(f.text)
		if r.IntN(2) == 0 {
			name, content = name+packedSuffix, packed(content)
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, f.end, f.end); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func packed(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // it writes to memory, as a level there is
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// datedLogs makes the files of a log whose times go forward, and back by less than slack.
func datedLogs(r *rand.Rand) (files []datedFile, begin, end time.Time) {
	begin = dawn
	at := begin
	for range 1 + r.IntN(3) {
		var b strings.Builder
		size, longest := r.IntN(1<<20), 1<<(4+r.IntN(12))
		pace := time.Duration(1 + r.Int64N(int64(time.Minute)))
		for b.Len() < size {
			at = at.Add(time.Duration(r.Int64N(int64(pace))))
			stamped := at.Add(-time.Duration(r.Int64N(int64(slack))))
			b.WriteString(randomLine(r, stamped, r.IntN(longest)))
		}
		files = append(files, datedFile{b.String(), at})
	}
	newest := &files[len(files)-1]
	if r.IntN(2) == 0 { // torn
		newest.text = newest.text[:r.IntN(len(newest.text)+1)]
	}
	return files, begin, at.Add(time.Second)
}

func randomLine(r *rand.Rand, at time.Time, size int) string {
	text := strings.Repeat(string(rune('a'+r.IntN(26))), size)
	if r.IntN(4) == 0 {
		text = binary(r, min(size, 200))
	}
	stamp := at.Format(time.RFC3339Nano)
	switch r.IntN(40) {
	case 0:
		return text + "\n"
	case 1:
		return strings.Repeat("\x00", r.IntN(200<<10)) + "\n"
	case 2:
		return stamp[:r.IntN(len(stamp))] // torn, and the next line behind it
	case 3, 4:
		return fmt.Sprintf(`{"log":"%d\n","stream":"stderr","time":"%s"}`+"\n", size, stamp)
	case 5, 6:
		return fmt.Sprintf("%s stdout F %s\r\n", stamp, text)
	case 7, 8, 9:
		return fmt.Sprintf("%s stdout P %s\n", stamp, text)
	case 10, 11, 12:
		return fmt.Sprintf("%s stderr P %s\n", stamp, text)
	case 13, 14, 15:
		return fmt.Sprintf("%s stderr F %s\n", stamp, text)
	default:
		return fmt.Sprintf("%s stdout F %s\n", stamp, text)
	}
}

// binary is any bytes without a newline.
func binary(r *rand.Rand, size int) string {
	b := make([]byte, size)
	for i := range b {
		if b[i] = byte(r.IntN(256)); b[i] == '\n' {
			b[i] = 0
		}
	}
	return string(b)
}

// vast is a log far too large to be written: an entry a millisecond, each of width bytes. It
// counts the bytes that are read.
type vast struct {
	width int64
	read  int64
	line  []byte
}

func (v *vast) at(i int64) time.Time { return dawn.Add(time.Duration(i) * time.Millisecond) }

func (v *vast) ReadAt(p []byte, offset int64) (int, error) {
	v.read += int64(len(p))
	for n := 0; n < len(p); {
		i, within := (offset+int64(n))/v.width, (offset+int64(n))%v.width
		v.line = append(v.at(i).AppendFormat(v.line[:0], time.RFC3339Nano), " stdout F "...)
		for int64(len(v.line)) < v.width-1 {
			v.line = append(v.line, 'x')
		}
		v.line = append(v.line, '\n')
		n += copy(p[n:], v.line[within:])
	}
	return len(p), nil
}

func TestSinceReadsLittleOfLargeLogs(t *testing.T) {
	tests := []struct {
		name        string
		size, width int64
		most        int64 // bytes that may be read
	}{
		{"a gigabyte of short lines", 1 << 30, 128, 512 << 10},
		{"ten gigabytes of short lines", 10 << 30, 128, 768 << 10},
		{"a gigabyte of lines that were cut", 1 << 30, 16<<10 + 40, 2 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := &vast{width: tt.width}
			lines := tt.size / tt.width
			for _, first := range []int64{0, 1, lines / 3, lines - 60_000, lines - 1, lines + 1} {
				file.read = 0
				got := startSince(file, tt.size, file.at(first))
				last := max(first-slack.Milliseconds(), 0) * tt.width // here reading has to begin, or a little before it
				if got%tt.width != 0 || got > last || last-got > 2*blockSize+tt.size-lines*tt.width {
					t.Errorf("since line %d of %d begins at byte %d, want a little before %d", first, lines, got, last)
				}
				if file.read > tt.most {
					t.Errorf("since line %d of %d reads %d bytes, want %d at most", first, lines, file.read, tt.most)
				}
			}
			allocs := testing.AllocsPerRun(5, func() { startSince(file, tt.size, file.at(lines-1)) })
			if allocs > 200 {
				t.Errorf("%v allocations, want a few for each place that is looked at", allocs)
			}
		})
	}
}

// The time of a file is that of a coarse clock, and mostly a little older than
// that of its last line.
func TestSinceReadsRotatedFilesOfThatTime(t *testing.T) {
	path := writeLog(t, entryAt(dawn.Add(time.Hour), "new"))
	rotated := path + ".20260102-000000"
	if err := os.WriteFile(rotated, []byte(entryAt(dawn, "old")), 0o600); err != nil {
		t.Fatal(err)
	}
	just := dawn.Add(-3 * time.Millisecond)
	if err := os.Chtimes(rotated, just, just); err != nil {
		t.Fatal(err)
	}
	if got, want := readAll(t, path, node.LogOptions{Since: dawn}), "old\nnew\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
