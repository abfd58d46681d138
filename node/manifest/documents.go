package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// document is the text of one document, and the line of the bundle at which it begins.
type document struct {
	text []byte
	line int
}

// split cuts a bundle into its documents and drops empty ones. YAML allows its markers
// only at the start of a line and never inside a scalar, so looking at lines is exact.
func split(data []byte) []document {
	var documents []document
	start, line := 0, 1
	emit := func(end int) {
		chunk := data[start:end]
		if !blank(chunk) {
			for _, text := range jsonStream(chunk) {
				documents = append(documents, document{text, line})
			}
		}
		line += bytes.Count(chunk, []byte("\n"))
	}
	for at := 0; at < len(data); {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if isMarker(data[at:next], "---") || isMarker(data[at:next], "...") {
			emit(at)
			start = at + len("---") // what follows on the line belongs to the document
		}
		at = next
	}
	emit(len(data))
	return documents
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// blank reports whether a text holds nothing but comments and %YAML directives.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// jsonStream cuts a text into the JSON values that stand in it one after another.
// A text that is not such a stream comes back whole, to be read as YAML.
func jsonStream(text []byte) [][]byte {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return [][]byte{text}
	}
	var values [][]byte
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return values
		}
		if err != nil {
			return [][]byte{text}
		}
		values = append(values, value)
	}
}
