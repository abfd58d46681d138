package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

var (
	accepted = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	site     = node.Site{HostIPs: []string{"192.0.2.1", "2001:db8::1"}, Runtime: "containerd", BackoffMax: node.DefaultBackoffMax}
)

// scene holds a pod with its observation.
type scene struct {
	slot *node.Slot
	got  *node.Observed
}

type option func(*scene)

// pod makes a pod with one application container and a ready sandbox.
func pod(policy corev1.RestartPolicy, options ...option) *scene {
	s := &scene{
		slot: &node.Slot{Tallies: map[string]node.Tally{}, Pod: &node.Pod{Accepted: accepted, Object: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1", Generation: 3},
			Spec: corev1.PodSpec{
				RestartPolicy: policy,
				Containers:    []corev1.Container{{Name: "app", Image: "app:1"}},
			},
		}}},
		got: &node.Observed{
			Faults: map[string]node.Fault{},
			Sandboxes: []node.Sandbox{{
				ID: "s0", UID: "u1", State: node.SandboxReady, CreatedAt: at(1), IPs: []string{"10.0.0.7", "fd00::7"},
			}},
		},
	}
	for _, o := range options {
		o(s)
	}
	return s
}

func (s *scene) status() corev1.PodStatus { return Of(site, s.slot, s.got) }

func at(seconds int) time.Time { return accepted.Add(time.Duration(seconds) * time.Second) }

func also(name string) option {
	return func(s *scene) {
		spec := &s.slot.Pod.Object.Spec
		spec.Containers = append(spec.Containers, corev1.Container{Name: name, Image: name + ":1"})
	}
}

func initially(name string) option {
	return func(s *scene) {
		spec := &s.slot.Pod.Object.Spec
		spec.InitContainers = append(spec.InitContainers, corev1.Container{Name: name, Image: name + ":1"})
	}
}

// gated is a readiness gate, and what a client has said of it, if anything.
func gated(kind corev1.PodConditionType, said corev1.ConditionStatus, seconds int) option {
	return func(s *scene) {
		s.slot.Pod.Object.Spec.ReadinessGates = append(s.slot.Pod.Object.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: kind})
		if said != "" {
			s.slot.Pod.Conditions = append(s.slot.Pod.Conditions, corev1.PodCondition{
				Type: kind, Status: said, LastTransitionTime: metav1.NewTime(at(seconds)), ObservedGeneration: s.slot.Pod.Object.Generation,
			})
		}
	}
}

// sidecar is an init container that goes on running.
func sidecar(name string) option {
	return func(s *scene) {
		initially(name)(s)
		policy := corev1.ContainerRestartPolicyAlways
		list := s.slot.Pod.Object.Spec.InitContainers
		list[len(list)-1].RestartPolicy = &policy
	}
}

// itself changes an application container's own restart policy.
func itself(policy corev1.ContainerRestartPolicy) option {
	return func(s *scene) { s.slot.Pod.Object.Spec.Containers[0].RestartPolicy = &policy }
}

func noSandbox(s *scene) { s.got.Sandboxes = nil }

func deadSandbox(s *scene) { s.got.Sandboxes[0].State = node.SandboxNotReady }

// anotherSandbox adds a sandbox after the present one.
func anotherSandbox(seconds int) option {
	return func(s *scene) {
		s.got.Sandboxes = append([]node.Sandbox{{ID: "s1", UID: "u1", Attempt: 1, State: node.SandboxReady, CreatedAt: at(seconds)}}, s.got.Sandboxes...)
	}
}

// firstStarted sets the first start of a sidecar that has restarted since.
func firstStarted(name string, seconds int) option {
	return func(s *scene) { s.slot.Tallies[name] = node.Tally{Restarts: 3, Started: at(seconds)} }
}

func deleted(s *scene) { s.slot.Pod.Deletion = &node.Deletion{Requested: at(60)} }

// add puts a run before the others: it is a newer one.
func add(run node.Container) option {
	return func(s *scene) {
		run.UID, run.SandboxID = "u1", "s0"
		for i := range s.got.Containers {
			if s.got.Containers[i].Name == run.Name {
				run.Attempt++
			}
		}
		run.ID = run.Name + "-" + string(rune('0'+run.Attempt))
		s.got.Containers = append([]node.Container{run}, s.got.Containers...)
	}
}

func running(name string) option {
	return add(node.Container{Name: name, State: node.ContainerRunning, StartedAt: at(5), Inspected: true})
}

func exited(name string, code int32) option {
	return add(node.Container{
		Name: name, State: node.ContainerExited, ExitCode: code, StartedAt: at(5), FinishedAt: at(9), Inspected: true,
	})
}

// unlearnt adds a run that ended in a way that is not known yet.
func unlearnt(name string) option {
	return add(node.Container{Name: name, State: node.ContainerExited, StartedAt: at(5)})
}

func created(name string) option {
	return add(node.Container{Name: name, State: node.ContainerCreated})
}

// madeAnew is the first run that there is, where one before it was only made.
func madeAnew(name string) option {
	return add(node.Container{Name: name, Attempt: 1, State: node.ContainerCreated})
}

func tally(name string, restarts, streak int32) option {
	return func(s *scene) { s.slot.Tallies[name] = node.Tally{Restarts: restarts, Streak: streak} }
}

func fault(target, reason string, count int32) option {
	return func(s *scene) {
		s.got.Faults[target] = node.Fault{Reason: reason, Message: "it says why", Count: count}
	}
}

// probed gives app a startup and a readiness probe, and what they have shown.
func probed(h node.Health) option {
	return func(s *scene) {
		c := &s.slot.Pod.Object.Spec.Containers[0]
		c.StartupProbe, c.ReadinessProbe = &corev1.Probe{}, &corev1.Probe{}
		h.ID = s.got.Newest("u1", "app").ID
		s.got.Health = map[string]node.Health{"app": h}
	}
}

// hooked gives app a postStart hook, and what the journal has of its newest run.
func hooked(h node.Health) option {
	return func(s *scene) {
		s.slot.Pod.Object.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}}
		h.ID = s.got.Newest("u1", "app").ID
		s.slot.Health, s.got.Health = map[string]node.Health{"app": h}, map[string]node.Health{"app": h}
	}
}
