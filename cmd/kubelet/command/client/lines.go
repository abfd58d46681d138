package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	nodev1 "nodal/api/gen/node/v1"
)

// longestLine bounds what is kept of a line before it is written in parts.
const longestLine = 1 << 20

// lineWriter writes whole lines, so that several logs share one output.
type lineWriter struct {
	out    io.Writer
	lock   *sync.Mutex
	fits   *regexp.Regexp // nil lets all lines through
	prefix string
	plain  bool // nothing but colours steers the terminal
	rest   []byte
}

// copy writes a log.
func (r *reading) copy(ctx context.Context, client nodev1.LogsServiceClient, from source, w *lineWriter) error {
	stream, err := client.ReadLogs(ctx, r.request(from))
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(m.GetData()); err != nil {
			return err
		}
	}
}

func (w *lineWriter) Write(data []byte) (int, error) {
	n := len(data)
	if w.fits == nil && w.prefix == "" && !w.plain {
		w.lock.Lock()
		defer w.lock.Unlock()
		return w.out.Write(data)
	}
	w.rest = append(w.rest, data...)
	for {
		at := bytes.IndexByte(w.rest, '\n')
		if at < 0 && len(w.rest) < longestLine {
			return n, nil
		}
		if at < 0 {
			at = len(w.rest)
		}
		if err := w.line(w.rest[:at]); err != nil {
			return 0, err
		}
		w.rest = w.rest[min(at+1, len(w.rest)):]
	}
}

// end writes a last line that has no end.
func (w *lineWriter) end() error {
	if len(w.rest) == 0 {
		return nil
	}
	return w.line(w.rest)
}

func (w *lineWriter) line(text []byte) error {
	if w.fits != nil && !w.fits.Match(text) {
		return nil
	}
	line := string(text)
	if w.plain {
		line = colourful(line)
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	_, err := fmt.Fprintln(w.out, w.prefix+line)
	return err
}

// colour matches the control sequences that set colours.
var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// colourful returns a line in which nothing but colours steers the terminal.
func colourful(line string) string {
	line = strings.TrimRight(line, "\r")
	if !strings.ContainsFunc(line, steers) && utf8.ValidString(line) {
		return line
	}
	var b strings.Builder
	done := 0
	sets := colour.FindAllStringIndex(line, -1)
	for _, at := range sets {
		b.WriteString(printable(line[done:at[0]]) + line[at[0]:at[1]])
		done = at[1]
	}
	b.WriteString(printable(line[done:]))
	if len(sets) > 0 {
		b.WriteString(noColour)
	}
	return b.String()
}

const noColour = "\x1b[0m"

// colours tell logs apart on a terminal.
var colours = []string{"\x1b[36m", "\x1b[33m", "\x1b[35m", "\x1b[32m", "\x1b[34m", "\x1b[31m"}

// prefixOf returns what stands before each line of a log. It is empty for a log that is alone.
func prefixOf(sources []source, i int, onTerminal bool) string {
	if len(sources) == 1 {
		return ""
	}
	width := 0
	for _, s := range sources {
		width = max(width, len(s.String()))
	}
	return coloured(fmt.Sprintf("%-*s ", width, sources[i]), i, onTerminal)
}

// coloured returns the text in the colour of a log.
func coloured(text string, i int, onTerminal bool) string {
	if !onTerminal {
		return text
	}
	return colours[i%len(colours)] + text + noColour
}
