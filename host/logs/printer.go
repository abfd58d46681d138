package logs

import (
	"errors"
	"fmt"
	"math"

	"nodal/node"
)

// batchSize is the amount of output that one Write gathers.
const batchSize = 128 << 10

// errLimit ends a reading that has used up its LimitBytes.
var errLimit = errors.New("limit of output bytes reached")

// printer turns lines of a log file into output.
type printer struct {
	parser  parser
	opts    node.LogOptions
	left    int64 // bytes that may still be printed
	sink    node.LogSink
	batch   []byte
	open    [node.LogStderr + 1]bool // the stream's last printed entry did not end its line
	unsaved bool                     // the sink holds bytes that were not flushed
}

func newPrinter(opts node.LogOptions, sink node.LogSink) *printer {
	p := &printer{opts: opts, left: math.MaxInt64, sink: sink}
	if opts.LimitBytes != nil {
		p.left = *opts.LimitBytes
	}
	// Room for one entry of the usual runtimes beyond the batch.
	p.batch = make([]byte, 0, batchSize+32<<10)
	return p
}

// line prints one line of the file, if it is an entry that the options ask for.
func (p *printer) line(line []byte) error {
	e, ok := p.parser.parse(line)
	if !ok || !p.wants(&e) {
		return nil
	}
	begin := len(p.batch)
	if p.opts.Timestamps && !p.open[e.stream] {
		p.batch = append(e.time.appendTo(p.batch), ' ')
	}
	p.batch = append(p.batch, e.content...)
	p.open[e.stream] = e.partial
	if added := int64(len(p.batch) - begin); added < p.left {
		p.left -= added
	} else {
		p.batch = p.batch[:begin+int(p.left)]
		p.left = 0
		return errLimit
	}
	if len(p.batch) >= batchSize {
		return p.write()
	}
	return nil
}

func (p *printer) wants(e *entry) bool {
	if p.opts.Stream != node.LogAll && p.opts.Stream != e.stream {
		return false
	}
	return p.opts.Since.IsZero() || !e.time.before(p.opts.Since)
}

func (p *printer) write() error {
	if len(p.batch) == 0 {
		return nil
	}
	if _, err := p.sink.Write(p.batch); err != nil {
		return fmt.Errorf("write log output: %w", err)
	}
	p.batch = p.batch[:0]
	p.unsaved = true
	return nil
}

// begin tells the sink that the log is open.
func (p *printer) begin() error {
	p.unsaved = true
	return p.flush()
}

// flush passes everything printed so far to the sink.
func (p *printer) flush() error {
	if err := p.write(); err != nil {
		return err
	}
	if !p.unsaved {
		return nil
	}
	p.unsaved = false
	if err := p.sink.Flush(); err != nil {
		return fmt.Errorf("flush log output: %w", err)
	}
	return nil
}
