package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/method"
)

func TestAStreamWithoutAHandlerIsAnError(t *testing.T) {
	watch := method.Method{Name: "/node.v1.S/Watch", Stream: true}
	_, err := (&Handlers{}).Handler(watch, method.Path{Verb: "GET", Pattern: "/v1/s:watch"})
	if err == nil || !strings.Contains(err.Error(), watch.Name) {
		t.Errorf("got %v, want an error of %s", err, watch.Name)
	}
}

func TestABrowserResumesWhereItWas(t *testing.T) {
	for _, c := range []struct {
		name, query, last string
		want              int64
		fails             bool
	}{
		{"at first", "?sinceRevision=7", "", 7, false},
		{"when it comes back to the same address", "?sinceRevision=7", "9", 9, false},
		{"with an id of another server", "", "x", 0, true},
		{"with a revision that there cannot be", "", "-1", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/v1/pods:watch"+c.query, nil)
			if c.last != "" {
				r.Header.Set("Last-Event-ID", c.last)
			}
			request := &nodev1.WatchPodsRequest{}
			if err := fillFrom(r, request); err != nil {
				t.Fatal(err)
			}
			err := resume(r, request.ProtoReflect())
			if (err != nil) != c.fails || err == nil && request.GetSinceRevision() != c.want {
				t.Errorf("got %d, %v, want %d", request.GetSinceRevision(), err, c.want)
			}
		})
	}
}

func TestAnIdleEventStreamIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*keepAliveInterval+time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		err := copyWithKeepAlives(ctx, newStreamWriter(w, eventForm{}), make(chan proto.Message), make(chan error))
		if got, want := w.Body.String(), ":\n\n:\n\n"; got != want || err == nil {
			t.Errorf("got %q and %v, want %q until the client is gone", got, err, want)
		}
	})
}
