package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"nodal/server/auth"
)

func TestWatchesWaitForNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, end := 0, make(chan struct{})
		lock := make(chan struct{}, 1)
		handler := inOnePiece(&auth.Authenticator{}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			lock <- struct{}{}
			begun++
			<-lock
			<-end
		}))
		for _, path := range []string{"/api/v1/pods", "/api/v1/pods?watch=true"} {
			before := begun
			for range 100 {
				go handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			}
			synctest.Wait()
			if watch := begun-before == 100; watch != (path != "/api/v1/pods") {
				t.Errorf("%d of 100 requests for %s are answered at a time", begun-before, path)
			}
		}
		close(end)
	})
}
