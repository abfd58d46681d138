package auth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestAnIdentityIsGivenAFewAnswersAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, read := &Authenticator{}, make(chan struct{})
		answered := map[string]int{}
		begun := make(chan string, 100)
		handler := a.InTurn(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			id, _ := From(r.Context())
			begun <- id.Name
			<-read
		}), func(http.ResponseWriter, error) { t.Error("a request is refused before it has waited") })
		ask := func(ctx context.Context, name, path string) {
			r := httptest.NewRequestWithContext(NewContext(ctx, Identity{Name: name}), http.MethodGet, path, nil)
			go handler.ServeHTTP(httptest.NewRecorder(), r)
		}
		count := func() map[string]int {
			synctest.Wait()
			for len(begun) > 0 {
				answered[<-begun]++
			}
			return answered
		}
		hasty, hangUp := context.WithCancel(t.Context())
		for range mostAnswers {
			ask(t.Context(), "viewer", "/v1/pods")
		}
		if got := count()["viewer"]; got != mostAnswers {
			t.Fatalf("%d requests are answered, want %d", got, mostAnswers)
		}
		for range 3 {
			ask(hasty, "viewer", "/v1/pods")
		}
		for range 2 {
			ask(t.Context(), "viewer", "/v1/pods")
		}
		if got := count()["viewer"]; got != mostAnswers {
			t.Errorf("%d requests are answered while none of them has been read, want %d", got, mostAnswers)
		}
		ask(t.Context(), "admin", "/v1/pods")
		if got := count(); got["viewer"] != mostAnswers || got["admin"] != 1 {
			t.Errorf("answered are %v, want another identity at once", got)
		}
		hangUp()
		synctest.Wait()
		close(read)
		if got := count()["viewer"]; got != mostAnswers+2 {
			t.Errorf("%d requests are answered in the end, want %d: those that hung up are not", got, mostAnswers+2)
		}
		if len(a.turns.open) != 0 {
			t.Errorf("%d identities are remembered, want none", len(a.turns.open))
		}
	})
}

func TestARequestDoesNotWaitForItsTurnForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, read := &Authenticator{}, make(chan struct{})
		var refusals []error
		handler := a.InTurn(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-read }), func(_ http.ResponseWriter, err error) {
			refusals = append(refusals, err)
		})
		started := time.Now()
		ask := func() {
			ctx := NewContext(t.Context(), Identity{Name: "viewer"})
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/pods", nil))
		}
		for range mostAnswers {
			go ask()
		}
		synctest.Wait()
		ask()
		if waited := time.Since(started); waited != longestWait || len(refusals) != 1 {
			t.Fatalf("after %s there are %d refusals", waited, len(refusals))
		}
		if err := refusals[0]; status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "has not read 8 answers") {
			t.Errorf("the refusal is %v", err)
		}
		close(read)
	})
}
