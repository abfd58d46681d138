package client

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// containers prints containers with how they are.
func (p *page) containers(title string, all []corev1.Container, states []corev1.ContainerStatus) {
	if len(all) == 0 {
		return
	}
	p.head(title)
	for _, c := range all {
		p.head("  " + c.Name)
		p.line(4, "Image", c.Image)
		p.line(4, "Command", strings.Join(append(slices.Clone(c.Command), c.Args...), " "))
		p.line(4, "Ports", ports(c.Ports))
		p.line(4, "Requests", quantities(c.Resources.Requests))
		p.line(4, "Limits", quantities(c.Resources.Limits))
		p.state(states, c.Name)
		p.line(4, "Mounts", mounts(c.VolumeMounts))
	}
}

// ephemeral prints the containers that were added for debugging.
func (p *page) ephemeral(of *corev1.Pod) {
	var all []corev1.Container
	for _, c := range of.Spec.EphemeralContainers {
		all = append(all, corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args})
	}
	p.containers("Ephemeral containers", all, of.Status.EphemeralContainerStatuses)
}

func (p *page) state(states []corev1.ContainerStatus, name string) {
	i := slices.IndexFunc(states, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		p.line(4, "State", "not started")
		return
	}
	s := states[i]
	p.line(4, "State", stateOf(s.State))
	p.line(4, "Last state", stateOf(s.LastTerminationState))
	p.line(4, "Ready", fmt.Sprint(s.Ready))
	p.line(4, "Restarts", fmt.Sprint(s.RestartCount))
}

// stateOf says how a container is.
func stateOf(s corev1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running for " + since(s.Running.StartedAt)
	case s.Waiting != nil:
		return strings.TrimRight("waiting: "+s.Waiting.Reason+" "+s.Waiting.Message, " ")
	case s.Terminated != nil:
		t := s.Terminated
		return strings.TrimRight(fmt.Sprintf("ended %s ago: %s, exit code %d %s", since(t.FinishedAt), t.Reason, t.ExitCode, t.Message), " ")
	}
	return ""
}

func since(at metav1.Time) string {
	if at.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(at.Time))
}

func ports(all []corev1.ContainerPort) string {
	var texts []string
	for _, p := range all {
		text := fmt.Sprintf("%d/%s", p.ContainerPort, p.Protocol)
		if p.HostPort != 0 {
			text += fmt.Sprintf(" on port %d of the machine", p.HostPort)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func quantities(all corev1.ResourceList) string {
	texts := map[string]string{}
	for name, q := range all {
		texts[string(name)] = q.String()
	}
	return pairs(texts)
}

func mounts(all []corev1.VolumeMount) string {
	var texts []string
	for _, m := range all {
		text := m.MountPath + " of " + m.Name
		if m.ReadOnly {
			text += " (read only)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func localTime(t *timestamppb.Timestamp) string {
	if t == nil {
		return "<unknown>"
	}
	return t.AsTime().Local().Format(time.DateTime)
}
