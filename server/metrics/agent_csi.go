package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"
)

// newCSICounts measures calls to CSI drivers.
func newCSICounts() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "csi_operations_seconds", Help: alpha + "Container Storage Interface operation duration with gRPC error code status total",
		Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600},
	}, []string{"driver_name", "method_name", "grpc_status_code", "migrated"})
}

// CSICalled measures a call to the node service of a CSI driver. err is gRPC's.
func (a *Agent) CSICalled(driver, method string, err error, took time.Duration) {
	a.csi.WithLabelValues(driver, "/csi.v1.Node/"+method, status.Code(err).String(), "false").Observe(took.Seconds())
}
