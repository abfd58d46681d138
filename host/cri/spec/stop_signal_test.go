package spec

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

func TestStopSignal(t *testing.T) {
	for name, want := range map[corev1.Signal]runtimeapi.Signal{
		"":            runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT,
		"SIGTERM":     runtimeapi.Signal_SIGNAL_SIGTERM,
		"SIGRTMIN+3":  runtimeapi.Signal_SIGNAL_SIGRTMINPLUS3,
		"SIGRTMAX-14": runtimeapi.Signal_SIGNAL_SIGRTMAXMINUS14,
		"SIGRTMAX":    runtimeapi.Signal_SIGNAL_SIGRTMAX,
	} {
		got, err := stopSignal(stoppedWith(name))
		if err != nil || got != want {
			t.Errorf("%s gives %s, %v, want %s", name, got, err, want)
		}
		if back := SignalOf(want); back != name {
			t.Errorf("%s comes back as %q, want %q", want, back, name)
		}
	}
	if _, err := stopSignal(stoppedWith("SIGNONE")); !errors.Is(err, node.ErrInvalid) {
		t.Errorf("an unknown signal gives %v, want it refused", err)
	}
}

func stoppedWith(signal corev1.Signal) *corev1.Container {
	c := &corev1.Container{Name: "main"}
	if signal != "" {
		c.Lifecycle = &corev1.Lifecycle{StopSignal: &signal}
	}
	return c
}
