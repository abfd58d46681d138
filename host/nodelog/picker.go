package nodelog

import (
	"bytes"
	"time"

	"nodal/node"
)

const (
	longestLine = 64 << 10 // a longer one counts as several
	mostKept    = 16 << 20 // bytes of the last lines
)

// picker cuts a log into lines and passes on those that a query wants.
type picker struct {
	query node.NodeLogQuery
	// stamp returns the time at the beginning of a line. A line without one belongs to the line before it. nil stands for a
	// log that is cut by time already.
	stamp func(line []byte) (time.Time, bool)
	sink  node.LogSink

	rest   []byte // of a line that has only begun
	wanted bool   // the last line that had a time is wanted
	last   [][]byte
	kept   int    // bytes of last
	batch  []byte // lines that the sink has not got yet
}

func pick(q node.NodeLogQuery, stamp func([]byte) (time.Time, bool), sink node.LogSink) *picker {
	return &picker{query: q, stamp: stamp, sink: sink, wanted: q.Since.IsZero()}
}

// Write takes the next part of the log. The sink gets what is complete of it.
func (p *picker) Write(part []byte) (int, error) {
	for rest := part; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 && len(p.rest)+len(rest) < longestLine {
			p.rest = append(p.rest, rest...)
			break
		}
		if end == 0 || len(p.rest)+end > longestLine {
			end = max(longestLine-len(p.rest), 1)
		}
		p.line(append(p.rest, rest[:end]...))
		p.rest, rest = p.rest[:0], rest[end:]
	}
	return len(part), p.send()
}

// line takes a whole line, which it may not keep.
func (p *picker) line(line []byte) {
	if p.stamp != nil {
		if at, ok := p.stamp(line); ok {
			p.wanted = !at.Before(p.query.Since) && (p.query.Until.IsZero() || !at.After(p.query.Until))
		}
		if !p.wanted {
			return
		}
	}
	if p.query.Pattern != nil && !p.query.Pattern.Match(bytes.TrimRight(line, "\n")) {
		return
	}
	if p.query.Tail == nil {
		p.batch = append(p.batch, line...)
		return
	}
	p.last = append(p.last, bytes.Clone(line))
	p.kept += len(line)
	for int64(len(p.last)) > *p.query.Tail || p.kept > mostKept {
		p.kept -= len(p.last[0])
		p.last[0], p.last = nil, p.last[1:]
	}
}

// end takes the end of what the log holds now: a line without an end, and the last lines. Later ones are passed on as
// they come.
func (p *picker) end() error {
	if len(p.rest) > 0 && !p.query.Follow {
		p.line(append(p.rest, '\n'))
		p.rest = nil
	}
	for _, line := range p.last {
		p.batch = append(p.batch, line...)
	}
	p.last, p.query.Tail = nil, nil
	if err := p.send(); err != nil {
		return err
	}
	return p.sink.Flush()
}

func (p *picker) send() error {
	if len(p.batch) == 0 {
		return nil
	}
	_, err := p.sink.Write(p.batch)
	p.batch = p.batch[:0]
	return err
}
