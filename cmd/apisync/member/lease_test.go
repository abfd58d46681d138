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
			return http.StatusOK, coordinationv1.Lease{
				TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
				ObjectMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: "n", ResourceVersion: "7"},
			}, nil
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
