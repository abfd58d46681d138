package metrics

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ContentType is the media type of the text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

type kind string

const (
	counter kind = "counter"
	gauge   kind = "gauge"

	histogram kind = "histogram"
)

// family is a metric with all its samples.
type family struct {
	name, help string
	kind       kind
	labels     []string // of each sample, in order
	lines      []byte
}

// add appends a sample. Without a time, the scraper takes its own.
func (f *family) add(value float64, at time.Time, labels ...string) { f.addTo(nil, value, at, labels) }

// addTo appends a sample after labels that are already encoded.
func (f *family) addTo(base []byte, value float64, at time.Time, labels []string) {
	f.lines = append(f.lines, f.name...)
	if len(base)+len(labels) > 0 {
		f.lines = append(append(f.lines, '{'), base...)
		for i, text := range labels {
			f.lines = appendLabel(f.lines, f.labels[i], text)
		}
		f.lines = append(f.lines, '}')
	}
	f.lines = appendNumber(append(f.lines, ' '), value)
	if !at.IsZero() {
		f.lines = strconv.AppendInt(append(f.lines, ' '), at.UnixMilli(), 10)
	}
	f.lines = append(f.lines, '\n')
}

// appendNumber has a faster path for whole numbers, which most are.
func appendNumber(line []byte, value float64) []byte {
	if whole := int64(value); float64(whole) == value && -exact < whole && whole < exact {
		return strconv.AppendInt(line, whole, 10)
	}
	return strconv.AppendFloat(line, value, 'g', -1, 64)
}

const exact = 1 << 53 // beyond this, not every whole number can be represented

// header returns the lines HELP and TYPE.
func (f *family) header() string {
	return "# HELP " + f.name + " " + f.help + "\n# TYPE " + f.name + " " + string(f.kind) + "\n"
}

// writeTo writes a family, unless it has no samples.
func (f *family) writeTo(w io.Writer) error {
	if len(f.lines) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, f.header()); err != nil {
		return err
	}
	_, err := w.Write(f.lines)
	return err
}

// appendLabel appends a label after the others.
func appendLabel(line []byte, name, value string) []byte {
	if len(line) > 0 && line[len(line)-1] == '"' {
		line = append(line, ',')
	}
	line = append(append(line, name...), '=', '"')
	return append(append(line, escapeLabel(value)...), '"')
}

// escapeLabel escapes the characters that would end a label's value.
func escapeLabel(text string) string {
	if !strings.ContainsAny(text, "\\\n\"") {
		return text
	}
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(text)
}

// text returns the families that have samples, sorted by name.
func text(families ...*family) []byte {
	slices.SortFunc(families, func(a, b *family) int { return strings.Compare(a.name, b.name) })
	size := 0
	for _, f := range families {
		size += len(f.lines) + len(f.help) + 2*len(f.name) + 32
	}
	out := make([]byte, 0, size)
	for _, f := range families {
		if len(f.lines) > 0 {
			out = append(append(out, f.header()...), f.lines...)
		}
	}
	return out
}
