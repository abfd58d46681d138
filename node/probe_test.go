package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestHealthAfterAResult(t *testing.T) {
	early, late := time.Unix(100, 0), time.Unix(200, 0)
	word := func(kind ProbeKind, ok bool) Probed { return Probed{Kind: kind, OK: ok, At: late} }
	cases := []struct {
		name   string
		before Health
		word   Probed
		want   Health
	}{
		{"a startup probe that succeeds starts it", Health{}, word(StartupProbe, true), Health{Started: late}},
		{"and does so once", Health{Started: early}, word(StartupProbe, true), Health{Started: early}},
		{"one that fails condemns it", Health{}, word(StartupProbe, false), Health{Failed: StartupProbe, FailedAt: late}},
		{"readiness comes", Health{}, word(ReadinessProbe, true), Health{Ready: true, Since: late}},
		{"readiness goes", Health{Ready: true, Since: early}, word(ReadinessProbe, false), Health{Since: late}},
		{"readiness that was there before is no news", Health{Ready: true, Since: early}, word(ReadinessProbe, true), Health{Ready: true, Since: early}},
		{"what never was ready has not stopped being so", Health{}, word(ReadinessProbe, false), Health{}},
		{"a liveness probe that succeeds is no news", Health{Started: early}, word(LivenessProbe, true), Health{Started: early}},
		{"one that fails condemns it", Health{Ready: true, Since: early}, word(LivenessProbe, false), Health{Ready: true, Since: early, Failed: LivenessProbe, FailedAt: late}},
		{"the first that failed stays the reason", Health{Failed: StartupProbe}, word(LivenessProbe, false), Health{Failed: StartupProbe}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.before.After(c.word); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestStartedAndReady(t *testing.T) {
	then := time.Unix(100, 0)
	startup := &corev1.Container{StartupProbe: &corev1.Probe{}}
	readiness := &corev1.Container{ReadinessProbe: &corev1.Probe{}}
	both := &corev1.Container{StartupProbe: &corev1.Probe{}, ReadinessProbe: &corev1.Probe{}}
	cases := []struct {
		name           string
		spec           *corev1.Container
		state          ContainerState
		health         Health
		started, ready bool
	}{
		{"without probes a container that runs is ready", &corev1.Container{}, ContainerRunning, Health{}, true, true},
		{"one that has ended is not", &corev1.Container{}, ContainerExited, Health{}, false, false},
		{"before its startup probe nothing holds", startup, ContainerRunning, Health{}, false, false},
		{"after it both do", startup, ContainerRunning, Health{ID: "c1", Started: then}, true, true},
		{"before its readiness probe it has started", readiness, ContainerRunning, Health{}, true, false},
		{"after it it is ready", readiness, ContainerRunning, Health{ID: "c1", Ready: true}, true, true},
		{"both have to succeed", both, ContainerRunning, Health{ID: "c1", Ready: true}, false, false},
		{"what was said of another run does not count", readiness, ContainerRunning, Health{ID: "c0", Ready: true}, true, false},
		{"what has ended is not ready, whatever was said", both, ContainerExited, Health{ID: "c1", Started: then, Ready: true}, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run := &Container{ID: "c1", Name: "app", State: c.state}
			got := &Observed{Health: map[string]Health{"app": c.health}}
			if started, ready := got.Started(run, c.spec), got.Ready(run, c.spec); started != c.started || ready != c.ready {
				t.Errorf("started, ready = %t, %t, want %t, %t", started, ready, c.started, c.ready)
			}
		})
	}
}

func TestPort(t *testing.T) {
	ports := []corev1.ContainerPort{{ContainerPort: 1}, {Name: "web", ContainerPort: 8080}}
	for _, c := range []struct {
		port intstr.IntOrString
		want int32
		ok   bool
	}{
		{intstr.FromInt32(9), 9, true},
		{intstr.FromString("web"), 8080, true},
		{intstr.FromString("wob"), 0, false},
	} {
		if got, err := Port(c.port, ports); got != c.want || (err == nil) != c.ok {
			t.Errorf("Port(%s) = %d, %v, want %d", c.port.String(), got, err, c.want)
		}
	}
}
