package member

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestALeaseWrittenByAnotherClientIsRenewedAtOnce(t *testing.T) {
	for _, c := range []struct {
		name      string
		conflicts int
		requests  int
		renewed   bool
	}{
		{"no client has", 0, 1, true},
		{"once", 1, 3, true},
		{"again and again", 100, 9, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			written, requests := 0, 0
			server := apiServer(func(r *http.Request) (int, any, error) {
				requests++
				if r.Method == http.MethodPut {
					if written++; written <= c.conflicts {
						return http.StatusConflict, refused(http.StatusConflict, metav1.StatusReasonConflict), nil
					}
				}
				return http.StatusOK, aLease, nil
			})
			h := &heart{nodeName: "n", cluster: server.dial(t), lasts: 40 * time.Second, now: time.Now, lease: aLease.DeepCopy()}
			if err := h.beat(t.Context()); (err == nil) != c.renewed || requests != c.requests {
				t.Errorf("%s: it took %d requests, want %d: %v", c.name, requests, c.requests, err)
			}
		})
	}
}

var aLease = coordinationv1.Lease{
	TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
	ObjectMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: "n", ResourceVersion: "7"},
}

func TestARenewalThatStallsCostsOneBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var asked []string
		server := apiServer(func(r *http.Request) (int, any, error) {
			asked = append(asked, r.Method+" after "+time.Since(began).String())
			if len(asked) == 2 {
				<-r.Context().Done()
				return 0, nil, r.Context().Err()
			}
			return http.StatusOK, aLease, nil
		})
		h := &heart{nodeName: "n", cluster: server.dial(t), lasts: 40 * time.Second, log: slog.New(slog.DiscardHandler), now: time.Now}
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		h.run(ctx)
		want := []string{"GET after 0s", "PUT after 0s", "GET after 10s", "PUT after 10s", "PUT after 20s"}
		if !slices.Equal(asked, want) {
			t.Errorf("got %q, want %q", asked, want)
		}
	})
}
