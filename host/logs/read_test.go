package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

// printed is a node.LogSink that can tell what was flushed.
type printed struct {
	bytes.Buffer
	flushed int
}

func (p *printed) Flush() error {
	p.flushed = p.Len()
	return nil
}

var _ node.LogSink = (*printed)(nil)

func readAll(t *testing.T, path string, opts node.LogOptions) string {
	t.Helper()
	var out printed
	if err := Read(t.Context(), path, opts, &out); err != nil {
		t.Fatalf("Read: %v", err)
	}
	if out.flushed != out.Len() {
		t.Errorf("Read flushed %d of %d bytes", out.flushed, out.Len())
	}
	return out.String()
}

func writeLog(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "0.log")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	const log = "2026-01-02T15:04:01Z stdout F one\n" +
		"2026-01-02T15:04:02.5Z stderr P tw\n" +
		"2026-01-02T15:04:03Z stderr F o\n" +
		"not a log line\n" +
		"2026-01-02T15:04:04Z stdout F three\n"
	tests := []struct {
		name string
		opts node.LogOptions
		want string
	}{
		{"everything, joined", node.LogOptions{}, "one\ntwo\nthree\n"},
		{"one stream", node.LogOptions{Stream: node.LogStderr}, "two\n"},
		{"no lines", node.LogOptions{Tail: new(int64(0))}, ""},
		{"the last two lines, one of them in pieces", node.LogOptions{Tail: new(int64(2))}, "two\nthree\n"},
		{"the last line of a stream", node.LogOptions{Tail: new(int64(1)), Stream: node.LogStderr}, "two\n"},
		{"more lines than there are", node.LogOptions{Tail: new(int64(9))}, "one\ntwo\nthree\n"},
		{"no bytes", node.LogOptions{LimitBytes: new(int64(0))}, ""},
		{"a limit within a line", node.LogOptions{LimitBytes: new(int64(6))}, "one\ntw"},
		{"a limit within a timestamp", node.LogOptions{LimitBytes: new(int64(4)), Timestamps: true}, "2026"},
		{"a limit beyond the end", node.LogOptions{LimitBytes: new(int64(99))}, "one\ntwo\nthree\n"},
		{"a timestamp for each line, not each piece", node.LogOptions{Timestamps: true, Tail: new(int64(2))},
			"2026-01-02T15:04:02.500000000Z two\n2026-01-02T15:04:04.000000000Z three\n"},
		{"what is not older", node.LogOptions{Since: time.Date(2026, 1, 2, 15, 4, 4, 0, time.UTC)}, "three\n"},
		{"nothing that is older by a nanosecond", node.LogOptions{Since: time.Date(2026, 1, 2, 15, 4, 4, 1, time.UTC)}, ""},
	}
	path := writeLog(t, log)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := readAll(t, path, tt.opts); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if naively := naive(log, tt.opts); naively != tt.want {
				t.Errorf("the naive reader got %q, want %q", naively, tt.want)
			}
		})
	}
}

func TestReadPassesOverEntriesWithoutBound(t *testing.T) {
	const at = "2026-01-02T15:04:05Z stdout F "
	longest := strings.Repeat("x", maxEntry-len(at)-1) + "\n"
	path := writeLog(t, at+"before\n"+at+longest+at+"y"+longest+at+"after\n")
	if got, want := readAll(t, path, node.LogOptions{}), "before\n"+longest+"after\n"; got != want {
		t.Errorf("got %d bytes, want %d: the longest entry whole, a longer one not", len(got), len(want))
	}
	if got, want := readAll(t, path, node.LogOptions{Tail: new(int64(2))}), longest+"after\n"; got != want {
		t.Errorf("the last two lines have %d bytes, want %d", len(got), len(want))
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name, path string
		opts       node.LogOptions
		want       error
	}{
		{"a log that is not there", filepath.Join(dir, "1.log"), node.LogOptions{}, node.ErrNotFound},
		{"a directory", dir, node.LogOptions{}, node.ErrInvalid},
		{"a negative tail", writeLog(t, ""), node.LogOptions{Tail: new(int64(-1))}, node.ErrInvalid},
		{"a negative limit", writeLog(t, ""), node.LogOptions{LimitBytes: new(int64(-1))}, node.ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := Read(t.Context(), tt.path, tt.opts, &printed{}); !errors.Is(err, tt.want) {
				t.Errorf("Read = %v, want %v", err, tt.want)
			}
		})
	}
}

// refusing is the sink of a reader that went away.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }
func (r refusing) Flush() error              { return r.err }

func TestReadEndsWithItsSink(t *testing.T) {
	gone := errors.New("connection reset")
	path := writeLog(t, "2026-01-02T15:04:05Z stdout F one\n")
	for _, follow := range []bool{false, true} {
		if err := Read(t.Context(), path, node.LogOptions{Follow: follow}, refusing{gone}); !errors.Is(err, gone) {
			t.Errorf("Read with Follow %t = %v, want %v", follow, err, gone)
		}
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := writeLog(t, "2026-01-02T15:04:05Z stdout F one\n")
	if err := Read(ctx, path, node.LogOptions{}, &printed{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want %v", err, context.Canceled)
	}
}

func TestReadAgreesWithNaiveReader(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 300 {
		log := randomLog(r)
		opts := randomOptions(r)
		path := writeLog(t, log)
		if got, want := readAll(t, path, opts), naive(log, opts); got != want {
			t.Fatalf("seed %d, round %d, %s: got %d bytes, want %d\n%.2000q\n%.2000q",
				seed, i, describe(opts), len(got), len(want), got, want)
		}
	}
}

func randomOptions(r *rand.Rand) node.LogOptions {
	opts := node.LogOptions{Timestamps: r.IntN(2) == 0, Stream: node.LogStream(r.IntN(3))}
	if r.IntN(2) == 0 {
		opts.Tail = new(r.Int64N(30))
	}
	if r.IntN(3) == 0 {
		opts.LimitBytes = new(r.Int64N(20_000))
	}
	if r.IntN(3) == 0 {
		opts.Since = time.Unix(1_800_000_000+r.Int64N(20), r.Int64N(1e9))
	}
	return opts
}

func describe(o node.LogOptions) string {
	text := fmt.Sprintf("timestamps %t, stream %d, since %s", o.Timestamps, o.Stream, o.Since)
	if o.Tail != nil {
		text += fmt.Sprintf(", tail %d", *o.Tail)
	}
	if o.LimitBytes != nil {
		text += fmt.Sprintf(", limit %d", *o.LimitBytes)
	}
	return text
}

// randomLog makes a log with everything that occurs in one: some of them much
// larger than a block, with malformed lines, and cut off anywhere.
func randomLog(r *rand.Rand) string {
	var b strings.Builder
	size := 1 << (4 + r.IntN(8))
	if r.IntN(10) == 0 {
		size = 3 * blockSize
	}
	zones := []*time.Location{time.UTC, time.UTC, time.FixedZone("", 5400), time.FixedZone("", -3600)}
	for range r.IntN(60) {
		at := time.Unix(1_800_000_000+r.Int64N(20), r.Int64N(1e9)).In(zones[r.IntN(len(zones))])
		text := strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(size))
		stream := []string{"stdout", "stderr"}[r.IntN(2)]
		switch r.IntN(12) {
		case 0:
			b.WriteString(text + "\n")
		case 1:
			fmt.Fprintf(&b, `{"log":"%s\n","stream":"%s","time":"%s"}`+"\n", text, stream, at.Format(time.RFC3339Nano))
		case 2:
			fmt.Fprintf(&b, `{"log":"%s","stream":"%s","time":"%s"}`+"\n", text, stream, at.Format(time.RFC3339Nano))
		default:
			tag := []string{"F", "F", "F", "P", "P:more", "F:x"}[r.IntN(6)]
			fmt.Fprintf(&b, "%s %s %s %s\n", at.Format(time.RFC3339Nano), stream, tag, text)
		}
	}
	log := b.String()
	if r.IntN(3) == 0 {
		log = log[:r.IntN(len(log)+1)]
	}
	return log
}

func TestPrintingAllocatesNothing(t *testing.T) {
	out := newPrinter(node.LogOptions{Timestamps: true, Since: time.Unix(1, 0)}, &printed{})
	line := []byte("2026-01-02T15:04:05.123456789Z stdout F hello world\n")
	got := testing.AllocsPerRun(1000, func() {
		out.batch = out.batch[:0]
		if err := out.line(line); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("a line costs %v allocations, want none", got)
	}
}
