package chaos

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// witness hears of every run from the run itself, independent of the agent and of the runtime. A
// program connects when it starts, sends its pod's name, and its connection breaks when it ends.
type witness struct {
	port  int
	mu    sync.Mutex
	runs  map[string][]span // by pod, in order of their starts
	heard chan struct{}     // closed and replaced at every change
}

// span is the life of a program; ended is zero while it lives.
type span struct{ began, ended time.Time }

func (s span) String() string {
	if s.ended.IsZero() {
		return "from " + clock(s.began)
	}
	return fmt.Sprintf("from %s to %s", clock(s.began), clock(s.ended))
}

func clock(t time.Time) string { return t.Format("15:04:05.000") }

// listen accepts runs until the test ends. Pods connect from their own network.
func listen(t *testing.T) *witness {
	t.Helper()
	l, err := net.Listen("tcp4", ":0")
	must(t, err)
	w := &witness{port: l.Addr().(*net.TCPAddr).Port, runs: map[string][]span{}, heard: make(chan struct{})}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // the test is over
			}
			go w.hear(conn, time.Now())
		}
	})
	t.Cleanup(func() {
		l.Close()
		group.Wait()
	})
	return w
}

// script returns the command of the pod's container.
func (w *witness) script(pod string) string {
	return fmt.Sprintf(`trap "exit 0" TERM; { echo %s; exec sleep 86400; } | nc $(ip route | awk "/default/{print \$3}") %d & wait`, pod, w.port)
}

// hear follows one run to its end. A run that ends before it has sent its name leaves no evidence.
func (w *witness) hear(conn net.Conn, began time.Time) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		return
	}
	pod := strings.TrimSpace(line)
	w.note(pod, span{began: began})
	in.ReadByte() // nothing more is sent, so the read ends with the run
	w.note(pod, span{began, time.Now()})
}

// note records a run, or replaces its earlier record.
func (w *witness) note(pod string, r span) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, known := slices.BinarySearchFunc(w.runs[pod], r, func(a, b span) int { return a.began.Compare(b.began) })
	if known {
		w.runs[pod][i] = r
	} else {
		w.runs[pod] = slices.Insert(w.runs[pod], i, r)
	}
	close(w.heard)
	w.heard = make(chan struct{})
}

// of returns the runs of a pod that were heard.
func (w *witness) of(pod string) []span {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.runs[pod])
}

// await waits until each pod has the given number of living runs, and reports whether that
// happened.
func (w *witness) await(pods []string, living int, within time.Duration) bool {
	deadline := time.After(within)
	for {
		w.mu.Lock()
		heard := w.heard
		missing := slices.ContainsFunc(pods, func(pod string) bool { return alive(w.runs[pod]) != living })
		w.mu.Unlock()
		if !missing {
			return true
		}
		select {
		case <-heard:
		case <-deadline:
			return false
		}
	}
}

// alive counts the runs that have not ended.
func alive(runs []span) (n int) {
	for _, r := range runs {
		if r.ended.IsZero() {
			n++
		}
	}
	return n
}

// together finds two neighbours that were alive at the same time.
func together(runs []span) (a, b span, found bool) {
	for i := 1; i < len(runs); i++ {
		if before := runs[i-1]; before.ended.IsZero() || before.ended.After(runs[i].began) {
			return before, runs[i], true
		}
	}
	return span{}, span{}, false
}
