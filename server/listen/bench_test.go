package listen

import (
	"syscall"
	"testing"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// BenchmarkCall makes calls one after the other over one connection with TLS and a token.
// It reports the processor time of client and server together.
func BenchmarkCall(b *testing.B) {
	r := start(b, nil, 0)
	client := healthpb.NewHealthClient(r.grpcClient(b, "tcp"))
	call := func() {
		if _, err := client.Check(b.Context(), &healthpb.HealthCheckRequest{}); err != nil {
			b.Fatal(err)
		}
	}
	call()
	begun := processorTime(b)
	for b.Loop() {
		call()
	}
	b.ReportMetric(float64((processorTime(b)-begun).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
