package logs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nodal/node"
)

// nowhere is a node.LogSink without cost, so that a benchmark shows that of reading.
type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) Flush() error                { return nil }

// BenchmarkRead reads 200 MB of log as containerd writes it, with lines of about
// 130 bytes. The figure counts bytes of the file.
func BenchmarkRead(b *testing.B) {
	path, size := bigLog(b, 200<<20)
	cases := []struct {
		name string
		opts node.LogOptions
	}{
		{"plain", node.LogOptions{}},
		{"timestamps", node.LogOptions{Timestamps: true}},
		{"one stream since long ago", node.LogOptions{Stream: node.LogStdout, Since: time.Unix(1, 0)}},
		{"tail of a million lines", node.LogOptions{Tail: new(int64(1_000_000))}},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if err := Read(b.Context(), path, c.opts, nowhere{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func bigLog(b *testing.B, size int) (string, int64) {
	var block bytes.Buffer
	at := time.Unix(1_800_000_000, 0).UTC()
	for block.Len() < 1<<20 {
		at = at.Add(123456789 * time.Nanosecond / 1000)
		fmt.Fprintf(&block, "%s stdout F %089d\n", at.Format(time.RFC3339Nano), block.Len())
	}
	path := filepath.Join(b.TempDir(), "0.log")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	var written int64
	for written < int64(size) {
		n, err := file.Write(block.Bytes())
		if err != nil {
			b.Fatal(err)
		}
		written += int64(n)
	}
	return path, written
}
