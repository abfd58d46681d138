package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// pullBounds are the bounds of durations of pulls, in seconds.
var pullBounds = []float64{1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}

func newPulls() *prometheus.HistogramVec {
	return histogramVec("image_pull_duration_seconds", "Duration in seconds to pull an image.", pullBounds, "image_size_in_bytes")
}

// Pulled counts a pull that has succeeded, with the time that its pod has waited.
func (a *Agent) Pulled(bytes int64, waited time.Duration) {
	a.pulls.WithLabelValues(sizeOf(bytes)).Observe(waited.Seconds())
}

// sizeOf returns the label for the size of an image. Kubernetes has its own classes, and no bytes beside them.
func sizeOf(bytes int64) string {
	const mega, giga = 1 << 20, 1 << 30
	classes := []struct {
		above int64
		label string
	}{
		{100 * giga, "GT100GB"}, {60 * giga, "60GB-100GB"}, {40 * giga, "40GB-60GB"}, {30 * giga, "30GB-40GB"}, {20 * giga, "20GB-30GB"},
		{10 * giga, "10GB-20GB"}, {5 * giga, "5GB-10GB"}, {giga, "1GB-5GB"}, {500 * mega, "500MB-1GB"}, {100 * mega, "100MB-500MB"},
		{10 * mega, "10MB-100MB"}, {0, "0-10MB"},
	}
	for _, class := range classes {
		if bytes > class.above {
			return class.label
		}
	}
	return "N/A" // it is not known
}
