package cri

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// CRI spells SIGRTMIN+3 as SIGNAL_SIGRTMINPLUS3.
const signalPrefix = "SIGNAL_"

var (
	toSignal   = strings.NewReplacer("+", "PLUS", "-", "MINUS")
	fromSignal = strings.NewReplacer(signalPrefix, "", "PLUS", "+", "MINUS", "-")
)

// wantedSignal is what a container wants to be stopped with; empty: it leaves
// that to its image and the runtime.
func wantedSignal(c *corev1.Container) corev1.Signal {
	if c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return ""
	}
	return *c.Lifecycle.StopSignal
}

func stopSignal(c *corev1.Container) (runtimeapi.Signal, error) {
	wanted := wantedSignal(c)
	if wanted == "" {
		return runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT, nil
	}
	signal, ok := runtimeapi.Signal_value[signalPrefix+toSignal.Replace(string(wanted))]
	if !ok {
		return 0, fmt.Errorf("stop signal %q is not known: %w", wanted, node.ErrInvalid)
	}
	return runtimeapi.Signal(signal), nil
}

// signalOf is the signal that a runtime says it will use; empty: it does not say.
func signalOf(s runtimeapi.Signal) corev1.Signal {
	if s == runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT {
		return ""
	}
	return corev1.Signal(fromSignal.Replace(s.String()))
}

// signalNotice warns of a runtime that has passed over the wanted signal. Those
// that know of it say in a container's status which one they use.
func signalNotice(pod *corev1.Pod, run node.Container) (notice, bool) {
	c, err := specContainer(pod, run.Name)
	if err != nil || wantedSignal(c) == "" || run.StopSignal != "" || run.State != node.ContainerRunning {
		return notice{}, false
	}
	return notice{reasonSignalIgnored, fmt.Sprintf("the runtime does not know of stop signals: container %s will be stopped with that of its image, not %s",
		run.Name, wantedSignal(c))}, true
}
