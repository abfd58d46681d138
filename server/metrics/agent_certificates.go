package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Renewed is called after each try to renew a certificate, with the age of the one that it
// replaces.
type Renewed func(age time.Duration, err error)

// ServingCertificate shows when the node's serving certificate expires.
func (a *Agent) ServingCertificate(expires func() time.Time) Renewed {
	failed := count("server_expiration_renew_errors", "Counter of certificate renewal errors.")
	lived := histogramOf("certificate_manager_server_rotation_seconds",
		"Histogram of the number of seconds the previous certificate lived before being rotated.",
		[]float64{60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000})
	a.registry.MustRegister(failed, lived,
		left("kubelet_certificate_manager_server_ttl_seconds", "Gauge of the shortest TTL (time-to-live) of the Kubelet's "+
			"serving certificate. The value is in seconds until certificate expiry (negative if already expired). If serving certificate is invalid or unused, "+
			"the value will be +INF.", expires))
	return func(age time.Duration, err error) {
		switch {
		case err != nil:
			failed.Inc()
		case age > 0:
			lived.Observe(age.Seconds())
		}
	}
}

// ClientCertificate shows when the node's client certificate expires.
func (a *Agent) ClientCertificate(expires func() time.Time) Renewed {
	failed := count("certificate_manager_client_expiration_renew_errors", "Counter of certificate renewal errors.")
	a.registry.MustRegister(failed,
		left("kubelet_certificate_manager_client_ttl_seconds", "Gauge of the TTL (time-to-live) of the Kubelet's "+
			"client certificate. The value is in seconds until certificate expiry (negative if already expired). If client certificate is invalid or unused, "+
			"the value will be +INF.", expires))
	return func(_ time.Duration, err error) {
		if err != nil {
			failed.Inc()
		}
	}
}

// left shows the seconds until a time. For the zero time it shows infinity.
func left(name, help string, expires func() time.Time) prometheus.GaugeFunc {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: alpha + help}, func() float64 {
		at := expires()
		if at.IsZero() {
			return math.Inf(1)
		}
		return math.Trunc(time.Until(at).Seconds())
	})
}
