package logs

import (
	"bytes"
	"encoding/json"

	"nodal/node"
)

// entry is one line of a log file. Its slices point into the line it was parsed
// from.
type entry struct {
	time    stamp
	stream  node.LogStream
	partial bool   // the line of the container goes on in a later entry
	content []byte // with the newline that ends the line, if any
}

type parser struct{ clock clock }

// parse takes one line of a file with its newline; at the end of a file that
// may be missing. It reports whether the line is an entry.
func (p *parser) parse(line []byte) (entry, bool) {
	if len(line) > 0 && line[0] == '{' {
		return p.docker(line)
	}
	return p.cri(line)
}

// cri parses "time stream tags content".
func (p *parser) cri(line []byte) (e entry, ok bool) {
	blank := bytes.IndexByte(line, ' ')
	if blank < 0 {
		return e, false
	}
	if e.time, ok = p.clock.parse(line[:blank]); !ok {
		return e, false
	}
	rest := line[blank+1:]
	if e.stream, ok = streamBefore(rest); !ok {
		return e, false
	}
	rest = rest[len("stdout "):]
	if blank = bytes.IndexByte(rest, ' '); blank < 0 {
		return e, false
	}
	// Only the first tag has a meaning; others may follow it one day.
	tag, _, _ := bytes.Cut(rest[:blank], []byte{':'})
	e.content = rest[blank+1:]
	if e.partial = string(tag) == "P"; e.partial {
		e.content = bytes.TrimSuffix(e.content, []byte{'\n'})
	}
	return e, true
}

// streamBefore names the stream that b begins with, if a blank ends its name.
func streamBefore(b []byte) (node.LogStream, bool) {
	if len(b) < len("stdout ") {
		return 0, false
	}
	switch string(b[:len("stdout ")]) {
	case "stdout ":
		return node.LogStdout, true
	case "stderr ":
		return node.LogStderr, true
	}
	return 0, false
}

// docker parses a line of Docker's json-file driver. A record that does not end
// in a newline is continued by the next.
func (p *parser) docker(line []byte) (e entry, ok bool) {
	var record struct {
		Log    string `json:"log"`
		Stream string `json:"stream"`
		Time   string `json:"time"`
	}
	if json.Unmarshal(line, &record) != nil {
		return e, false
	}
	if e.stream, ok = streamBefore([]byte(record.Stream + " ")); !ok {
		return e, false
	}
	if e.time, ok = p.clock.parse([]byte(record.Time)); !ok {
		return e, false
	}
	e.content = []byte(record.Log)
	e.partial = !bytes.HasSuffix(e.content, []byte{'\n'})
	return e, true
}
