package spec

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

// wantedSignal returns the signal that stops a container. Empty leaves it to the image and the runtime.
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

// SignalOf reads the signal that a runtime says it will use. It is empty if the runtime does not say.
func SignalOf(s runtimeapi.Signal) corev1.Signal {
	if s == runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT {
		return ""
	}
	return corev1.Signal(fromSignal.Replace(s.String()))
}

// SignalNotice warns of a runtime that has ignored the wanted signal. A runtime that honours it says in a container's
// status which signal it uses.
func SignalNotice(pod *corev1.Pod, run node.Container) (Notice, bool) {
	c, err := findContainer(pod, run.Name)
	if err != nil || wantedSignal(c) == "" || run.StopSignal != "" || run.State != node.ContainerRunning {
		return Notice{}, false
	}
	text := "the runtime does not know of stop signals: container %s will be stopped with that of its image, not %s"
	return Notice{reasonSignalIgnored, fmt.Sprintf(text, run.Name, wantedSignal(c))}, true
}
