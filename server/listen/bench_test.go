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

// BenchmarkReadingAlong measures what the count of unfinished messages adds to a call of a known caller: its headers and a
// message of 200 bytes.
func BenchmarkReadingAlong(b *testing.B) {
	call := append([]byte{0, 0, 60, 1, 4, 0, 0, 0, 1}, make([]byte, 60)...)
	call = append(append(call, 0, 0, 205, 0, 1, 0, 0, 0, 1), of(200, 200)...)
	f := frames{streams: map[uint32]*message{}}
	b.ReportAllocs()
	for b.Loop() {
		f.pass(call)
	}
	if f.held != 0 {
		b.Errorf("%d bytes are held", f.held)
	}
}
