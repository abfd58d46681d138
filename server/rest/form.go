package rest

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/wire"
)

// streamForm encodes the messages of a stream.
type streamForm interface {
	contentType() string
	message(proto.Message) ([]byte, error)
	failure(*status.Status) ([]byte, error)
	keepAlive() []byte // nil if the form has no room for one
}

// streamWriter sends each message at once.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	form    streamForm
}

func newStreamWriter(w http.ResponseWriter, form streamForm) *streamWriter {
	w.Header().Set("Content-Type", form.contentType())
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return &streamWriter{w: w, control: http.NewResponseController(w), form: form}
}

func (s *streamWriter) send(m proto.Message) error {
	data, err := s.form.message(m)
	if err != nil {
		return err
	}
	return s.write(data)
}

// fail ends the stream with an error, if the form can express one.
func (s *streamWriter) fail(failed *status.Status) error {
	data, err := s.form.failure(failed)
	if err != nil {
		return err
	}
	return s.write(data)
}

func (s *streamWriter) write(data []byte) error {
	return wire.InTime(s.control, func() error {
		if _, err := s.w.Write(data); err != nil {
			return err
		}
		return s.control.Flush()
	})
}

// plainForm sends the bytes of each HttpBody.
type plainForm struct{}

// errNoForm is returned by a form that cannot express an error.
var errNoForm = errors.New("the form cannot express an error")

func (plainForm) contentType() string { return wire.PlainText }
func (plainForm) keepAlive() []byte   { return nil }
func (plainForm) message(m proto.Message) ([]byte, error) {
	return m.(*httpbody.HttpBody).GetData(), nil
}
func (plainForm) failure(*status.Status) ([]byte, error) { return nil, errNoForm }

// lineForm sends each message as a line of JSON.
type lineForm struct{}

func (lineForm) contentType() string { return "application/x-ndjson" }
func (lineForm) keepAlive() []byte   { return nil }
func (lineForm) message(m proto.Message) ([]byte, error) {
	data, err := wire.JSON(m)
	return append(data, '\n'), err
}
func (lineForm) failure(s *status.Status) ([]byte, error) {
	data, err := wire.JSON(s.Proto())
	return append(append([]byte(`{"error":`), data...), "}\n"...), err
}

// eventForm sends server-sent events. Their id is the revision, from which a browser resumes
// by itself.
type eventForm struct{}

func (eventForm) contentType() string { return "text/event-stream" }
func (eventForm) keepAlive() []byte   { return []byte(":\n\n") }
func (eventForm) message(m proto.Message) ([]byte, error) {
	data, err := wire.JSON(m)
	id, name := "", "message"
	switch m := m.(type) {
	case *nodev1.WatchPodsResponse:
		id, name = strconv.FormatInt(m.GetRevision(), 10), strings.TrimPrefix(m.GetType().String(), "WATCH_TYPE_")
	case *nodev1.WatchObjectsResponse:
		id, name = strconv.FormatInt(m.GetRevision(), 10), strings.TrimPrefix(m.GetType().String(), "WATCH_TYPE_")
	case *nodev1.WatchEventsResponse:
		id, name = strconv.FormatInt(m.GetRevision(), 10), "EVENT"
		if m.GetEvent() == nil {
			name = "SYNCED"
		}
	case *nodev1.WatchAuditEntriesResponse:
		name = "ENTRY"
		if m.GetEntry() == nil {
			name = "SYNCED"
		}
	case *nodev1.WatchNodeResponse:
		id, name = strconv.FormatInt(m.GetNode().GetRevision(), 10), "NODE"
	}
	return []byte("id: " + id + "\nevent: " + name + "\ndata: " + string(data) + "\n\n"), err
}
func (eventForm) failure(s *status.Status) ([]byte, error) {
	data, err := wire.JSON(s.Proto())
	return []byte("event: error\ndata: " + string(data) + "\n\n"), err
}

var (
	_ streamForm = plainForm{}
	_ streamForm = lineForm{}
	_ streamForm = eventForm{}
)
