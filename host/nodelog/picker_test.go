package nodelog

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

// sink keeps what it is given.
type sink struct {
	bytes.Buffer
	flushed int
}

func (s *sink) Flush() error {
	s.flushed++
	return nil
}

const someLines = `time="2026-05-01T12:00:00Z" level=info msg=one
time=2026-05-01T12:01:00.000Z level=WARN msg=two
  of two
{"time":"2026-05-01T12:02:00Z","msg":"three"}
`

func TestLinesAreChosen(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 5, 1, 12, minute, 0, 0, time.UTC) }
	tail := func(n int64) *int64 { return &n }
	cases := map[string]struct {
		query node.NodeLogQuery
		want  []int // lines, from 0
	}{
		"all":                      {node.NodeLogQuery{}, []int{0, 1, 2, 3}},
		"since a time":             {node.NodeLogQuery{Since: at(1)}, []int{1, 2, 3}},
		"until a time":             {node.NodeLogQuery{Until: at(1)}, []int{0, 1, 2}},
		"between times":            {node.NodeLogQuery{Since: at(1), Until: at(1)}, []int{1, 2}},
		"by a pattern":             {node.NodeLogQuery{Pattern: regexp.MustCompile("t(wo|hree)")}, []int{1, 2, 3}},
		"whose end matches":        {node.NodeLogQuery{Pattern: regexp.MustCompile("two$")}, []int{1, 2}},
		"the last":                 {node.NodeLogQuery{Tail: tail(1)}, []int{3}},
		"the last that match":      {node.NodeLogQuery{Tail: tail(1), Pattern: regexp.MustCompile("two")}, []int{2}},
		"more than there are":      {node.NodeLogQuery{Tail: tail(9)}, []int{0, 1, 2, 3}},
		"none":                     {node.NodeLogQuery{Tail: tail(0)}, nil},
		"the last until some time": {node.NodeLogQuery{Tail: tail(2), Until: at(1)}, []int{1, 2}},
	}
	all := strings.SplitAfter(someLines, "\n")
	for name, c := range cases {
		var want string
		for _, i := range c.want {
			want += all[i]
		}
		for _, size := range []int{1, 7, len(someLines)} { // of the parts in which the log comes
			var got sink
			lines := pick(c.query, stampOf, &got)
			for part := range slices.Chunk([]byte(someLines), size) {
				if _, err := lines.Write(part); err != nil {
					t.Fatal(err)
				}
			}
			if err := lines.end(); err != nil {
				t.Fatal(err)
			}
			if got.String() != want {
				t.Errorf("%s, in parts of %d: got %q, want %q", name, size, got.String(), want)
			}
		}
	}
}

func TestALogWithoutANewlineAtItsEndIsWhole(t *testing.T) {
	var got sink
	lines := pick(node.NodeLogQuery{}, nil, &got)
	lines.Write([]byte("one\ntwo"))
	if err := lines.end(); err != nil || got.String() != "one\ntwo\n" {
		t.Errorf("got %q (%v), want both lines", got.String(), err)
	}
}

func TestLongLinesAndTailsAreBounded(t *testing.T) {
	var got sink
	all := int64(100_000)
	lines := pick(node.NodeLogQuery{Tail: &all}, nil, &got)
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range 40 { // one line of 40 MiB
		lines.Write(block)
	}
	if len(lines.rest) > longestLine || lines.kept > mostKept {
		t.Errorf("it keeps %d bytes of a line and %d of lines", len(lines.rest), lines.kept)
	}
	if err := lines.end(); err != nil || got.Len() > mostKept+longestLine+1 || got.Len() < mostKept-longestLine {
		t.Errorf("got %d bytes (%v), want the last %d", got.Len(), err, mostKept)
	}
}

func FuzzPickerKeepsEachByte(f *testing.F) {
	f.Add([]byte(someLines), 3)
	f.Add([]byte("\n\nno end"), 1)
	f.Fuzz(func(t *testing.T, log []byte, size int) {
		var got sink
		lines := pick(node.NodeLogQuery{}, nil, &got)
		for part := range slices.Chunk(log, 1+max(0, size)%4096) {
			lines.Write(part)
		}
		if err := lines.end(); err != nil {
			t.Fatal(err)
		}
		want := string(log)
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		if len(log) < longestLine && got.String() != want {
			t.Errorf("got %q, want %q", got.String(), want)
		}
	})
}

func TestStampsOfLines(t *testing.T) {
	for line, want := range map[string]string{
		`time="2026-05-01T12:00:00.5Z" level=info`:         "2026-05-01T12:00:00.5Z",
		"time=2026-05-01T12:00:00.5+02:00 level=INFO":      "2026-05-01T12:00:00.5+02:00",
		`{"time":"2026-05-01T12:00:00.5Z","level":"INFO"}`: "2026-05-01T12:00:00.5Z",
		"time=": "", "time=now x": "", "panic: a fault": "", "": "",
	} {
		got := ""
		if at, ok := stampOf([]byte(line)); ok {
			got = at.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestRecordsOfTheKernelAreLines(t *testing.T) {
	started := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for record, want := range map[string]string{
		"6,1,1500000,-;eth0: link up\n SUBSYSTEM=net\n": "2026-05-01T12:00:01.500000Z kernel: eth0: link up\n",
		"12,2,2000000,-;systemd[1]: Started\n":          "2026-05-01T12:00:02.000000Z user: systemd[1]: Started\n",
		"no record":                                     "", "x,1,2,-;text": "", "6,1,x,-;text": "", "6,1;text": "", "": "",
	} {
		got, ok := kernelLine(record, started)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q, want %q", record, got, want)
		}
		if ok {
			if _, stamped := kernelStamp([]byte(got)); !stamped {
				t.Errorf("%q has no time", got)
			}
		}
	}
}

func BenchmarkPicker(b *testing.B) {
	var log bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&log, "time=2026-05-01T12:00:00Z level=INFO msg=%d\n", i)
	}
	b.SetBytes(int64(log.Len()))
	for b.Loop() {
		var got sink
		lines := pick(node.NodeLogQuery{Pattern: regexp.MustCompile("9")}, stampOf, &got)
		lines.Write(log.Bytes())
	}
}
