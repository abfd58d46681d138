package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
)

// bodyTypes are the content types that a body may have. curl sends the second by default.
var bodyTypes = []string{
	"application/json", "application/x-www-form-urlencoded", "application/x-yaml",
	"application/yaml", "text/plain", "text/x-yaml", "text/yaml",
}

// BodyLimits bound the body of a request.
type BodyLimits struct {
	Bytes   int
	Timeout time.Duration // until it has arrived
	Types   []string      // content types beside those of manifests
}

// ReadBody reads the whole body, within the limits, before the handler runs. A client that sends
// slowly holds a connection, never a handler.
func ReadBody(limits BodyLimits, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		// Not every kind of connection has deadlines. The size is bounded in any case.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(limits.Timeout))
		if err := bodyType(r, limits.Types); err != nil {
			refuseBody(w, http.StatusUnsupportedMediaType, codes.InvalidArgument, err)
			return
		}
		data, err := bodyWithin(limits, w, r)
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			WriteStatus(w, StatusOf(fmt.Errorf("body: larger than %d bytes: %w", tooLarge.Limit, node.ErrTooLarge)))
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			refuseBody(w, http.StatusRequestTimeout, codes.DeadlineExceeded,
				fmt.Errorf("body: not complete within %s", limits.Timeout))
			return
		case err != nil:
			refuseBody(w, http.StatusBadRequest, codes.InvalidArgument, fmt.Errorf("read body: %w", err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		next.ServeHTTP(w, r)
	})
}

func bodyType(r *http.Request, more []string) error {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return fmt.Errorf("content encoding %q: not supported; send the body as it is, without Content-Encoding", coding)
		}
	}
	header := r.Header.Get("Content-Type")
	if header == "" {
		return nil
	}
	kind, _, err := mime.ParseMediaType(header)
	if known := slices.Concat(bodyTypes, more); err != nil || !slices.Contains(known, kind) {
		return fmt.Errorf("content type %q: not supported; use one of %v", header, known)
	}
	return nil
}

func bodyWithin(limits BodyLimits, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limits.Bytes)))
	if err != nil {
		// The deadline stays, because net/http itself waits for the rest before it answers.
		w.Header().Set("Connection", "close")
		return nil, err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return data, nil
}

// refuseBody answers with a code that only HTTP has.
func refuseBody(w http.ResponseWriter, code int, c codes.Code, err error) {
	WriteStatusAs(w, code, status.New(c, err.Error()))
}
