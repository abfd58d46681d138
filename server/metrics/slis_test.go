package metrics

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHealthChecksAreCounted(t *testing.T) {
	h := NewHealthChecks()
	h.Checked("ping", nil)
	h.Checked("syncloop", nil)
	h.Checked("syncloop", errBroken)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics/slis", nil))
	for _, want := range []string{
		`kubernetes_healthcheck{name="ping",type="healthz"} 1`,
		`kubernetes_healthcheck{name="syncloop",type="healthz"} 0`,
		`kubernetes_healthchecks_total{name="syncloop",status="error",type="healthz"} 1`,
		`kubernetes_healthchecks_total{name="syncloop",status="success",type="healthz"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("got %s, want %s", w.Body, want)
		}
	}
}

func TestPullsAreCountedBySize(t *testing.T) {
	a := testAgent()
	a.Pulled(20<<20, 3*time.Second)
	found := read(t, a)["kubelet_image_pull_duration_seconds"].GetMetric()
	if len(found) != 1 || found[0].GetLabel()[0].GetValue() != "10MB-100MB" || found[0].GetHistogram().GetSampleSum() != 3 {
		t.Errorf("got %v, want one pull of three seconds", found)
	}
	for bytes, want := range map[int64]string{
		0: "N/A", 1: "0-10MB", 10 << 20: "0-10MB", 10<<20 + 1: "10MB-100MB", 1 << 30: "500MB-1GB", 1<<30 + 1: "1GB-5GB", 101 << 30: "GT100GB",
	} {
		if got := sizeOf(bytes); got != want {
			t.Errorf("%d bytes: got %s, want %s", bytes, got, want)
		}
	}
}
