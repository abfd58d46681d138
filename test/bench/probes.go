package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/host/probe"
	"nodal/node"
)

// probes lets the agent's prober send many HTTP probes, each once a second. The server records how
// late each request is. Prober and server share this process and its cores.
func (b *suite) probes(ctx context.Context) error {
	const lead = time.Second // until the first probe
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	began := time.Now()
	s := &asked{first: began.Add(lead), among: b.sizes.probes}
	server := &http.Server{Handler: s}
	go server.Serve(listener) // Close returns the error
	defer server.Close()
	prober := probe.New(probe.Config{Tell: func(e node.Event) { s.failed(e.Count) }})
	defer prober.Close()
	for i := range b.sizes.probes {
		prober.Set(node.Key{Name: strconv.Itoa(i)}, []node.Probe{everySecond(listener.Addr().(*net.TCPAddr).Port, i, s.due(i))})
	}
	end := time.NewTimer(lead + b.sizes.probing)
	defer end.Stop()
	for running := true; running; {
		select {
		case <-prober.Results():
		case <-end.C:
			running = false
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	prober.Close()
	b.addProbes(s.measured())
	return nil
}

func (b *suite) addProbes(late []time.Duration, failures int32) {
	what := fmt.Sprintf("%d HTTP probes a second: ", b.sizes.probes)
	at := func(share float64) map[string]float64 {
		return map[string]float64{nodalColumn: milliseconds(late[int(share*float64(len(late)-1))])}
	}
	b.add(what+"p50 lateness at the server", "ms", at(0.50), aim{})
	b.add(what+"p99 lateness at the server", "ms", at(0.99), atMost(20, "ms"))
	b.add(what+"failures", "", map[string]float64{nodalColumn: float64(failures)}, atMost(0, ""))
}

// everySecond returns a probe whose first request is due at a given time.
func everySecond(port, i int, due time.Time) node.Probe {
	const delay = 3600 // a run that began long ago is probed once its delay is over
	return node.Probe{
		Container: "main", ID: strconv.Itoa(i), Kind: node.ReadinessProbe, Address: "127.0.0.1", HostNetwork: true,
		StartedAt: due.Add(-delay * time.Second),
		Spec: &corev1.Probe{
			ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/" + strconv.Itoa(i), Port: intstr.FromInt(port)}},
			InitialDelaySeconds: delay, TimeoutSeconds: 1, PeriodSeconds: 1, SuccessThreshold: 1, FailureThreshold: 1,
		},
	}
}

// asked is a server that knows when each request is due.
type asked struct {
	first time.Time // when the first probe is due; the others follow evenly within a second
	among int

	mu       sync.Mutex
	late     []time.Duration
	rounds   map[string]int
	failures int32
}

func (s *asked) due(i int) time.Time {
	return s.first.Add(time.Duration(i) * time.Second / time.Duration(s.among))
}

func (s *asked) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	now := time.Now()
	i, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rounds == nil {
		s.rounds = map[string]int{}
	}
	round := s.rounds[r.URL.Path]
	s.rounds[r.URL.Path]++
	s.late = append(s.late, now.Sub(s.due(i).Add(time.Duration(round)*time.Second)))
}

func (s *asked) failed(n int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures += n
}

// measured returns the delays of the requests, sorted, and the number of failures.
func (s *asked) measured() (late []time.Duration, failures int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.late)
	return slices.Clone(s.late), s.failures
}
