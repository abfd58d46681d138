package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"nodal/server/auth"
	"nodal/server/kube"
)

func TestWatchesWaitForNoAnswer(t *testing.T) {
	watched := map[string]bool{}
	for _, k := range kube.Routes(nil, nil) {
		if k.Method == http.MethodGet {
			watched[k.Pattern] = k.Watched
		}
	}
	for _, c := range []struct {
		pattern, query string
		watch          bool
	}{
		{"/api/v1/pods", "", false},
		{"/api/v1/pods", "?watch=true", true},
		{"/api/v1/namespaces/{namespace}/configmaps", "?watch=1", true},
		{"/api/v1/namespaces/{namespace}/pods/{name}", "?watch=true", false},
		{"/api/v1/namespaces/{namespace}/pods/{name}/status", "?watch=true", false},
		{"/openapi/v3/api/v1", "?watch=true", false},
		{"/v1/pods", "?watch=true", false},
	} {
		if _, served := watched[c.pattern]; !served && strings.HasPrefix(c.pattern, "/api/") {
			t.Errorf("%s is not served", c.pattern)
		}
		synctest.Test(t, func(t *testing.T) {
			begun, end := make(chan struct{}, 100), make(chan struct{})
			handler := inOnePiece(&auth.Authenticator{}, watched[c.pattern], http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				begun <- struct{}{}
				<-end
			}), kube.Refuse)
			for range 100 {
				go handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+c.query, nil))
			}
			synctest.Wait()
			if n := len(begun); (n == 100) != c.watch {
				t.Errorf("%d of 100 requests for %s%s are answered at a time", n, c.pattern, c.query)
			}
			close(end)
		})
	}
}
