package logs

import (
	"testing"
	"time"

	"nodal/node"
)

func TestParse(t *testing.T) {
	const at = "2026-01-02T15:04:05.5Z "
	tests := []struct {
		name, line, content string
		stream              node.LogStream
		partial             bool
	}{
		{name: "a full line keeps its newline", line: at + "stdout F hello world\n", stream: node.LogStdout, content: "hello world\n"},
		{name: "a partial line has none", line: at + "stderr P hello\n", stream: node.LogStderr, partial: true, content: "hello"},
		{name: "an empty line is a newline", line: at + "stdout F \n", stream: node.LogStdout, content: "\n"},
		{name: "the end of a file may lack the newline", line: at + "stdout F cut", stream: node.LogStdout, content: "cut"},
		{name: "only the first tag counts", line: at + "stdout P:x:F more\n", stream: node.LogStdout, partial: true, content: "more"},
		{name: "an unknown tag is a full line", line: at + "stdout Q text\n", stream: node.LogStdout, content: "text\n"},
		{name: "a carriage return is content", line: at + "stdout F a\r\n", stream: node.LogStdout, content: "a\r\n"},
		{
			name:   "a docker record carries its newline",
			line:   `{"log":"a \"b\"\n","stream":"stderr","time":"2026-01-02T15:04:05.5Z"}` + "\n",
			stream: node.LogStderr, content: "a \"b\"\n",
		},
		{
			name:   "a docker record without newline is partial",
			line:   `{"log":"a","stream":"stdout","time":"2026-01-02T15:04:05.5Z"}` + "\n",
			stream: node.LogStdout, partial: true, content: "a",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := new(parser).parse([]byte(tt.line))
			if !ok {
				t.Fatalf("parse(%q) found no entry", tt.line)
			}
			if got.stream != tt.stream || got.partial != tt.partial || string(got.content) != tt.content {
				t.Errorf("parse(%q) = stream %d, partial %t, content %q, want %d, %t, %q", tt.line,
					got.stream, got.partial, got.content, tt.stream, tt.partial, tt.content)
			}
			if want := time.Date(2026, 1, 2, 15, 4, 5, 5e8, time.UTC).Unix(); got.time.unix != want || got.time.nano != 5e8 {
				t.Errorf("parse(%q) is at %d s %d ns, want %d s 5e8 ns", tt.line, got.time.unix, got.time.nano, want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, line string }{
		{"nothing", ""},
		{"an empty line", "\n"},
		{"a time alone", "2026-01-02T15:04:05Z\n"},
		{"a missing tag", "2026-01-02T15:04:05Z stdout hello\n"},
		{"an unknown stream", "2026-01-02T15:04:05Z stdlog F hello\n"},
		{"a month that is none", "2026-13-02T15:04:05Z stdout F hello\n"},
		{"a point without digits", "2026-01-02T15:04:05.Z stdout F hello\n"},
		{"a time without zone", "2026-01-02T15:04:05 stdout F hello\n"},
		{"an hour of one digit", "2026-01-02T5:04:05.25Z stdout F hello\n"},
		{"the middle of a line", "05Z stdout F hello\n"},
		{"half a docker record", `{"log":"a","stream":"std` + "\n"},
		{"a docker record without time", `{"log":"a\n","stream":"stdout"}` + "\n"},
		{"a docker record without stream", `{"log":"a\n","time":"2026-01-02T15:04:05Z"}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p parser
			// What the parser remembers of the line before must not help.
			p.parse([]byte("2026-01-02T15:04:05Z stdout F before\n"))
			if got, ok := p.parse([]byte(tt.line)); ok {
				t.Errorf("parse(%q) = %+v, want no entry", tt.line, got)
			}
		})
	}
}

func TestStampPrintsNineDigits(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no fraction", "2026-01-02T15:04:05Z", "2026-01-02T15:04:05.000000000Z"},
		{"a short fraction", "2026-01-02T15:04:05.12+02:00", "2026-01-02T15:04:05.120000000+02:00"},
		{"a full fraction", "2026-01-02T15:04:05.123456789-07:30", "2026-01-02T15:04:05.123456789-07:30"},
		{"more than nanoseconds", "2026-01-02T15:04:05.1234567899Z", "2026-01-02T15:04:05.123456789Z"},
		{"a comma for the point", "2026-01-02T15:04:05,5Z", "2026-01-02T15:04:05.500000000Z"},
		{"an offset of nothing", "2026-01-02T15:04:05+00:00", "2026-01-02T15:04:05.000000000Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, ok := new(clock).parse([]byte(tt.text))
			if !ok {
				t.Fatalf("parse(%q) found no time", tt.text)
			}
			if got := string(s.appendTo(nil)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzParse compares with the naive parser. It parses another line first, because the parser
// remembers the time of that.
func FuzzParse(f *testing.F) {
	const full = "2026-01-02T15:04:05.123456789Z stdout F hello\n"
	for _, line := range []string{
		full, "2026-01-02T15:04:05Z stderr P:tag part\n", "2026-01-02T15:04:05.1+02:00 stdout F",
		"2026-01-02T15:04:05.:Z stdout F x\n", "2026-01-02T15:04:05,5Z stdout F x\n",
		"{\"log\":\"a\",\"stream\":\"stdout\",\"time\":\"2026-01-02T15:04:05Z\"}\n",
	} {
		f.Add([]byte(full), []byte(line))
	}
	f.Fuzz(func(t *testing.T, before, line []byte) {
		var p parser
		p.parse(before)
		got, ok := p.parse(line)
		want, wantOK := naiveParse(string(line))
		if ok != wantOK {
			t.Fatalf("parse(%q) after %q: entry %t, want %t", line, before, ok, wantOK)
		}
		if !ok {
			return
		}
		if string(got.content) != want.content || got.partial != want.partial ||
			(got.stream == node.LogStdout) != (want.stream == "stdout") {
			t.Errorf("parse(%q) = %+v, want %+v", line, got, want)
		}
		if got.time.unix != want.time.Unix() || got.time.nano != int64(want.time.Nanosecond()) {
			t.Errorf("parse(%q) is at %d s %d ns, want %s", line, got.time.unix, got.time.nano, want.time)
		}
		if printed := want.time.Format("2006-01-02T15:04:05.000000000Z07:00"); string(got.time.appendTo(nil)) != printed {
			t.Errorf("parse(%q) prints its time as %q, want %q", line, got.time.appendTo(nil), printed)
		}
	})
}
