package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node/store"
)

// draCounts measures what drivers do about resource claims, and counts the claims that pods hold.
type draCounts struct {
	calls, handled *prometheus.HistogramVec
	used           claimsUsed
}

func newDRACounts(views func() ([]store.View, int64)) draCounts {
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: alpha + help, Buckets: prometheus.ExponentialBucketsRange(.1, 40, 15),
		}, labels)
	}
	return draCounts{
		calls: histogram("dra_grpc_operations_duration_seconds", "Duration in seconds of the DRA gRPC operations",
			"driver_name", "method_name", "grpc_status_code"),
		handled: histogram("dra_operations_duration_seconds",
			"Latency histogram in seconds for the duration of handling all ResourceClaims referenced by a pod when the pod starts or stops. "+
				"Identified by the name of the operation (PrepareResources or UnprepareResources) and separated by the success of the operation. "+
				"The number of failed operations is provided through the histogram's overall count.",
			"operation_name", "is_error"),
		used: claimsUsed{views, prometheus.NewDesc("dra_resource_claims_in_use", alpha+
			"The number of ResourceClaims that are currently in use on the node, by driver name (driver_name label value) and across all drivers "+
			"(special value <any> for driver_name). Note that the sum of all by-driver counts is not the total number of in-use ResourceClaims "+
			"because the same ResourceClaim might use devices from different drivers. Instead, use the count for the <any> driver_name.",
			[]string{"driver_name"}, nil)},
	}
}

func (c draCounts) all() []prometheus.Collector {
	return []prometheus.Collector{c.calls, c.handled, c.used}
}

// ClaimsCalled measures a call to the driver of claims. err is gRPC's.
func (a *Agent) ClaimsCalled(driver, method string, err error, took time.Duration) {
	a.dra.calls.WithLabelValues(driver, method, status.Code(err).String()).Observe(took.Seconds())
}

// ClaimsHandled measures what was done about all claims of a pod.
func (a *Agent) ClaimsHandled(operation string, err error, took time.Duration) {
	a.dra.handled.WithLabelValues(operation, strconv.FormatBool(err != nil)).Observe(took.Seconds())
}

// claimsUsed counts the claims that drivers have prepared, or may have.
type claimsUsed struct {
	views func() ([]store.View, int64)
	used  *prometheus.Desc
}

// Describe sends the family.
func (c claimsUsed) Describe(to chan<- *prometheus.Desc) { to <- c.used }

// Collect counts each claim once, whichever pods share it.
func (c claimsUsed) Collect(to chan<- prometheus.Metric) {
	const anyDriver = "<any>"
	claims := map[string]map[types.UID]bool{anyDriver: {}}
	views, _ := c.views()
	for _, v := range views {
		if v.Slot == nil || v.Gone {
			continue
		}
		for _, claim := range v.Slot.Pod.Claims {
			for driver := range claim.Drivers {
				if claims[driver] == nil {
					claims[driver] = map[types.UID]bool{}
				}
				claims[driver][claim.UID], claims[anyDriver][claim.UID] = true, true
			}
		}
	}
	for driver, held := range claims {
		to <- prometheus.MustNewConstMetric(c.used, prometheus.GaugeValue, float64(len(held)), driver)
	}
}
