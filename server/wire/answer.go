package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// PlainText is the content type of a text as it stands, such as a log.
const PlainText = "text/plain; charset=utf-8"

// JSON returns a message as JSON without spaces.
func JSON(m proto.Message) ([]byte, error) { return Compact(protojson.Marshal(m)) }

// Compact removes the spaces that protojson writes after commas. Whether it writes them differs
// from build to build, and people compare texts.
func Compact(data []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	text.Grow(len(data) + 1)
	if err := json.Compact(&text, data); err != nil {
		return nil, fmt.Errorf("write JSON without spaces: %w", err)
	}
	return text.Bytes(), nil
}

// WriteStatus answers with an error as google.rpc.Status.
func WriteStatus(w http.ResponseWriter, s *status.Status) { WriteStatusAs(w, HTTPStatusOf(s), s) }

// WriteStatusAs answers as WriteStatus does, with another HTTP code.
func WriteStatusAs(w http.ResponseWriter, code int, s *status.Status) {
	body, err := JSON(s.Proto())
	if err != nil {
		http.Error(w, s.Message(), code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // a client that is gone gets no error
}

// WriteJSON answers with JSON as it stands.
func WriteJSON(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(body) // a client that is gone gets no error
}

// WriteText answers with a text as it stands.
func WriteText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", PlainText)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // a client that is gone gets no error
}
