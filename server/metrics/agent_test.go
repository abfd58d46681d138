package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// told holds events that a test adds to.
type told struct {
	events  []node.Event
	changed chan struct{}
	fails   int // this many times
}

func (l *told) Changed() <-chan struct{} { return l.changed }

func (l *told) Since(revision int64, match func(*node.Event) bool) ([]node.Event, int64, error) {
	if l.fails > 0 {
		l.fails--
		return nil, 0, node.ErrCompacted
	}
	var found []node.Event
	for i := range l.events {
		if l.events[i].Revision > revision && match(&l.events[i]) {
			found = append(found, l.events[i])
		}
	}
	return found, int64(len(l.events)), nil
}

// pair returns a pod with an init container and two others, one of which has a run.
func pair() store.View {
	pod := &node.Pod{Source: node.SourceFile, Accepted: someTime, Object: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"},
		Spec:       corev1.PodSpec{InitContainers: []corev1.Container{{Name: "first"}}, Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}},
	}}
	return store.View{Key: pod.Key(), Slot: &node.Slot{Pod: pod}, Got: &node.Observed{
		Sandboxes:  []node.Sandbox{{State: node.SandboxReady}},
		Containers: []node.Container{{State: node.ContainerRunning}, {State: node.ContainerExited}, {State: node.ContainerRunning}},
	}}
}

// read returns the agent's own metrics as Prometheus reads them.
func read(t *testing.T, a *Agent) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return parse(t, w.Body.Bytes())
}

// value returns the value of the sample with these label values, or the count of a
// histogram.
func value(f *dto.MetricFamily, labels ...string) float64 {
	for _, m := range f.GetMetric() {
		has := map[string]bool{}
		for _, l := range m.GetLabel() {
			has[l.GetValue()] = true
		}
		fits := true
		for _, l := range labels {
			fits = fits && has[l]
		}
		if fits {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return -1
}

func testAgent() *Agent {
	return NewAgent("node1", 2, func() ([]store.View, int64) { return []store.View{pair()}, 1 })
}

func TestTheAgentsWorkIsCounted(t *testing.T) {
	a := testAgent()
	a.Called("RunPodSandbox", "", time.Second, nil)
	a.Called("RunPodSandbox", "gvisor", time.Second, errors.New("no"))
	a.Called("UpdateContainerResources", "", time.Millisecond, nil)
	a.ConfigFailed(true)
	mux := chi.NewMux()
	mux.Use(a.Count("readonly", Routed(mux)))
	mux.Get("/containerLogs/{pod}", func(http.ResponseWriter, *http.Request) {})
	mux.Get("/v1/pods:watch", func(http.ResponseWriter, *http.Request) {})
	for _, path := range []string{"/containerLogs/web", "/containerLogs/db", "/v1/pods:watch", "/nothing/here"} {
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	for _, method := range []string{"A1", "A2"} {
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/containerLogs/web", nil))
	}
	found := read(t, a)
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"kubelet_node_name", []string{"node1"}, 1}, {"kubelet_node_config_error", nil, 1}, {"kubelet_cgroup_version", nil, 2},
		{"kubelet_runtime_operations_total", []string{"run_podsandbox"}, 2}, {"kubelet_runtime_operations_total", []string{"update_container"}, 1},
		{"kubelet_runtime_operations_errors_total", []string{"run_podsandbox"}, 1}, {"kubelet_runtime_operations_duration_seconds", []string{"run_podsandbox"}, 2},
		{"kubelet_run_podsandbox_duration_seconds", []string{""}, 1}, {"kubelet_run_podsandbox_duration_seconds", []string{"gvisor"}, 1},
		{"kubelet_run_podsandbox_errors_total", []string{"gvisor"}, 1},
		{"kubelet_started_pods_total", nil, 1}, {"kubelet_started_pods_errors_total", nil, 1},
		{"kubelet_http_requests_total", []string{"GET", "containerLogs", "readonly", "false"}, 2},
		{"kubelet_http_requests_total", []string{"v1/pods:watch", "true"}, 1}, {"kubelet_http_requests_total", []string{"GET", "other"}, 1},
		{"kubelet_http_requests_total", []string{"A1"}, -1}, {"kubelet_http_requests_total", []string{"A2"}, -1},
		{"kubelet_http_requests_duration_seconds", []string{"containerLogs"}, 2}, {"kubelet_http_inflight_requests", []string{"containerLogs"}, 0},
		{"kubelet_running_pods", nil, 1}, {"kubelet_running_containers", []string{"running"}, 2}, {"kubelet_running_containers", []string{"exited"}, 1},
		{"kubelet_desired_pods", []string{"true"}, 1}, {"kubelet_active_pods", []string{""}, 0},
	} {
		if got := value(found[c.name], c.labels...); got != c.want {
			t.Errorf("%s%q is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	for _, name := range []string{"go_goroutines", "process_open_fds"} {
		if value(found[name]) <= 0 {
			t.Errorf("%s is %v", name, value(found[name]))
		}
	}
}

func TestAPodHasStartedOnceAllItsContainersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, l := testAgent(), &told{changed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		go a.Watch(ctx, l, 0, func(node.Key) (store.View, bool) { return pair(), true })
		for i, e := range []struct {
			container string
			uid       types.UID
			want      float64
		}{{"first", "1", 0}, {"a", "1", 0}, {"b", "other", 0}, {"b", "1", 1}, {"b", "1", 1}} {
			synctest.Wait()
			l.events = append(l.events, node.Event{
				Revision: int64(i + 1), Reason: "Started", Container: e.container, UID: e.uid, Time: someTime.Add(3 * time.Second),
			})
			l.changed <- struct{}{}
			synctest.Wait()
			if got := value(read(t, a)["kubelet_pod_start_duration_seconds"]); got != e.want {
				t.Errorf("after %s of %s: %v pods have started, want %v", e.container, e.uid, got, e.want)
			}
		}
		found := read(t, a)
		if sum := found["kubelet_pod_start_duration_seconds"].GetMetric()[0].GetHistogram().GetSampleSum(); sum != 3 {
			t.Errorf("it took %v seconds, want 3", sum)
		}
		if first, others := value(found["kubelet_started_containers_total"], "init_container"), value(found["kubelet_started_containers_total"], "container"); first != 1 || others != 3 {
			t.Errorf("%v and %v containers have started, want 1 and 3", first, others)
		}
		cancel()
	})
}

func TestAPodFromBeforeTheAgentHasNoStartToMeasure(t *testing.T) {
	a, starting := testAgent(), map[types.UID]map[string]bool{}
	for _, name := range []string{"a", "b"} {
		e := node.Event{Reason: "Started", Container: name, UID: "1", Time: time.Now()}
		a.happened(&e, func(node.Key) (store.View, bool) { return pair(), true }, starting, waits{})
	}
	found := read(t, a)
	if pods, containers := value(found["kubelet_pod_start_duration_seconds"]), value(found["kubelet_started_containers_total"]); pods != 0 || containers != 2 {
		t.Errorf("%v pods and %v containers have started, want 0 and 2", pods, containers)
	}
}

func TestCountingContinuesAfterEventsCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, l := testAgent(), &told{changed: make(chan struct{}), fails: 2}
		ctx, cancel := context.WithCancel(t.Context())
		go a.Watch(ctx, l, 0, func(node.Key) (store.View, bool) { return pair(), true })
		synctest.Wait()
		l.events = append(l.events, node.Event{Revision: 1, Reason: "Started", Container: "a", UID: "1"})
		l.changed <- struct{}{}
		synctest.Wait()
		if got := value(read(t, a)["kubelet_started_containers_total"]); got != 1 {
			t.Errorf("%v containers have started, want 1", got)
		}
		cancel()
	})
}

func TestEventsOfAnEarlierAgentAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, l := testAgent(), &told{changed: make(chan struct{})}
		for revision := range int64(4) {
			l.events = append(l.events, node.Event{Revision: revision, Reason: "Started", Container: "a", UID: "1"})
		}
		ctx, cancel := context.WithCancel(t.Context())
		go a.Watch(ctx, l, 2, func(node.Key) (store.View, bool) { return pair(), true })
		synctest.Wait()
		if got := value(read(t, a)["kubelet_started_containers_total"]); got != 1 {
			t.Errorf("%v containers have started, want 1: the others did before", got)
		}
		cancel()
	})
}

func TestMemoryOfPodsThatNeverStartIsBounded(t *testing.T) {
	starting, waited := map[types.UID]map[string]bool{"1": {}, "gone": {}}, waits{"gone": {{}}}
	var last time.Time
	for i := range 3 * mostWaits {
		last = someTime.Add(time.Duration(i) * time.Minute)
		waited.add(pair().Slot.Pod.Object, &node.Event{UID: "1", Reason: "Exited", Container: "first", Took: time.Second, Time: last})
	}
	if got := waited["1"]; len(got) != mostWaits || !got[mostWaits-1].to.Equal(last) {
		t.Errorf("%d ends of an init container are kept, want the last %d", len(got), mostWaits)
	}
	testAgent().forgetGone(starting, waited)
	if len(starting) != 1 || starting["1"] == nil || len(waited) != 1 || waited["1"] == nil {
		t.Errorf("after a gap got %v and %d waits, want those of the pod that is there", starting, len(waited))
	}
}

func TestProbesAreCounted(t *testing.T) {
	c := node.ProbeCount{
		Key: node.Key{Namespace: "default", Name: "web"}, UID: "1", Container: "main", Kind: node.LivenessProbe, Successes: 3, Failures: 2,
	}
	for _, took := range []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Minute} {
		c.Took.Add(took)
	}
	found := parse(t, Probes([]*node.ProbeCount{&c}))
	if ok, failed := value(found["prober_probe_total"], "successful", "Liveness", "web", "1"), value(found["prober_probe_total"], "failed"); ok != 3 || failed != 2 {
		t.Errorf("got %v successes and %v failures, want 3 and 2", ok, failed)
	}
	h := found["prober_probe_duration_seconds"].GetMetric()[0].GetHistogram()
	if h.GetSampleCount() != 3 || h.GetSampleSum() != 60.021 || h.GetBucket()[0].GetCumulativeCount() != 1 || h.GetBucket()[2].GetCumulativeCount() != 2 {
		t.Errorf("got %v", h)
	}
}

func TestProbesAreReportedInOneOrder(t *testing.T) {
	a, b := &node.ProbeCount{Key: node.Key{Name: "a"}, Successes: 1}, &node.ProbeCount{Key: node.Key{Name: "b"}, Successes: 2}
	if one, other := string(Probes([]*node.ProbeCount{a, b})), string(Probes([]*node.ProbeCount{b, a})); one != other {
		t.Errorf("got\n%s\nand then\n%s", one, other)
	}
}
