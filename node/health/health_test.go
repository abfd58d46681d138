package health

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// plenty is a node that lacks nothing.
func plenty() Facts {
	return Facts{RuntimeReady: true, NetworkReady: true, Reading: Reading{Signals: []Signal{
		{"memory.available", 100, 1000}, {"nodefs.available", 100, 1000}, {"nodefs.inodesFree", 100, 1000},
		{"imagefs.available", 100, 1000}, {"pid.available", 100, 1000},
	}}}
}

// fifty has 50 left of everything but inodes.
func fifty() (rules []Rule) {
	for _, name := range []string{"memory.available", "nodefs.available", "imagefs.available", "pid.available"} {
		rules = append(rules, Rule{Signal: name, Least: Threshold{Quantity: *resource.NewQuantity(50, resource.BinarySI)}})
	}
	return rules
}

// imageless returns facts without the space that images take.
func imageless() Facts {
	f := plenty()
	f.Signals = slices.DeleteFunc(f.Signals, func(s Signal) bool { return s.Name == "imagefs.available" })
	f.Unread = []Unread{{"imagefs.available", "connection refused"}}
	return f
}

func (f Facts) left(signal string, left int64) Facts {
	for i := range f.Signals {
		if f.Signals[i].Name == signal {
			f.Signals[i].Left = left
		}
	}
	return f
}

func condition(t *testing.T, r *Record, kind corev1.NodeConditionType) corev1.NodeCondition {
	t.Helper()
	for _, c := range r.Conditions() {
		if c.Type == kind {
			return c
		}
	}
	t.Fatalf("there is no condition %s", kind)
	return corev1.NodeCondition{}
}

func TestConditionsFollowWhatIsSeen(t *testing.T) {
	down, offline := plenty(), plenty()
	leaving := plenty()
	leaving.Down = true
	down.RuntimeReady, down.Message = false, "connection refused"
	offline.NetworkReady, offline.Message = false, "cni plugin not initialized"
	blind := plenty()
	blind.Signals, blind.Unread = nil, []Unread{
		{"memory.available", "no such file"}, {"nodefs.available", "the disk hangs"}, {"imagefs.available", "connection refused"},
	}
	const no, yes = corev1.ConditionFalse, corev1.ConditionTrue
	for _, c := range []struct {
		name    string
		facts   Facts
		kind    corev1.NodeConditionType
		status  corev1.ConditionStatus
		reason  string
		message string
	}{
		{"all is well", plenty(), corev1.NodeReady, yes, "KubeletReady", "kubelet is posting ready status"},
		{"the machine shuts down", leaving, corev1.NodeReady, no, "KubeletNotReady", "node is shutting down"},
		{"the runtime is away", down, corev1.NodeReady, no, "KubeletNotReady", "container runtime is down: connection refused"},
		{"pods get no network", offline, corev1.NodeReady, no, "KubeletNotReady", "container runtime network not ready: cni plugin not initialized"},
		{"as much memory is left as has to be", plenty().left("memory.available", 50), corev1.NodeMemoryPressure, no, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		{"less memory is left", plenty().left("memory.available", 49), corev1.NodeMemoryPressure, yes, "KubeletHasInsufficientMemory", "kubelet has insufficient memory available: memory.available"},
		{"memory is no disk", plenty().left("memory.available", 49), corev1.NodeDiskPressure, no, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{"both disks are full", plenty().left("nodefs.available", 1).left("imagefs.available", 0), corev1.NodeDiskPressure, yes, "KubeletHasDiskPressure", "kubelet has disk pressure: nodefs.available, imagefs.available"},
		{"nothing has to be left", plenty().left("nodefs.inodesFree", 0), corev1.NodeDiskPressure, no, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{"one of two disks cannot be looked at, and the other is full", imageless().left("nodefs.available", 1), corev1.NodeDiskPressure, yes, "KubeletHasDiskPressure", "kubelet has disk pressure: nodefs.available"},
		{"too many processes run", plenty().left("pid.available", 7), corev1.NodePIDPressure, yes, "KubeletHasInsufficientPID", "kubelet has insufficient PID available: pid.available"},
		{"a signal cannot be read", blind, corev1.NodeMemoryPressure, corev1.ConditionUnknown, "NodeStatusUnknown", "how much is left could not be read: memory.available: no such file"},
		{"two cannot", blind, corev1.NodeDiskPressure, corev1.ConditionUnknown, "NodeStatusUnknown", "how much is left could not be read: nodefs.available: the disk hangs; imagefs.available: connection refused"},
		{"one of two disks cannot be looked at", imageless(), corev1.NodeDiskPressure, corev1.ConditionUnknown, "NodeStatusUnknown", "how much is left could not be read: imagefs.available: connection refused"},
		{"nobody says why", blind, corev1.NodePIDPressure, corev1.ConditionUnknown, "NodeStatusUnknown", "how much is left could not be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Record{Hold: time.Minute, Rules: fifty()}
			r.Take(c.facts, noon)
			got := condition(t, &r, c.kind)
			if got.Status != c.status || got.Reason != c.reason || got.Message != c.message {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAConditionKeepsItsTransitionTime(t *testing.T) {
	down := plenty()
	down.RuntimeReady, down.Message = false, "connection refused"
	worse := down
	worse.Message = "no such file"
	r := Record{}
	for i, step := range []struct {
		facts   Facts
		changed bool
		since   time.Duration
	}{
		{plenty(), true, 0}, {plenty(), false, 0}, {down, true, 2}, {worse, true, 2}, {worse, false, 2}, {plenty(), true, 5},
	} {
		changed := r.Take(step.facts, noon.Add(time.Duration(i)))
		since := condition(t, &r, corev1.NodeReady).LastTransitionTime.Sub(noon)
		if changed != step.changed || since != step.since {
			t.Errorf("step %d: changed %t, since %d; want %t, %d", i, changed, since, step.changed, step.since)
		}
	}
}

func TestAShortageIsOverOnceItWasNotSeenForAWhile(t *testing.T) {
	r := Record{Hold: 5 * time.Minute, Rules: fifty()}
	for _, step := range []struct {
		minute int
		left   int64
		want   corev1.ConditionStatus
	}{
		{0, 100, corev1.ConditionFalse}, {1, 0, corev1.ConditionTrue}, {2, 100, corev1.ConditionTrue}, {4, 0, corev1.ConditionTrue},
		{9, 100, corev1.ConditionTrue}, {10, 100, corev1.ConditionFalse},
	} {
		r.Take(plenty().left("memory.available", step.left), noon.Add(time.Duration(step.minute)*time.Minute))
		if got := condition(t, &r, corev1.NodeMemoryPressure); got.Status != step.want {
			t.Errorf("minute %d: got %s, want %s", step.minute, got.Status, step.want)
		}
	}
	if at := condition(t, &r, corev1.NodeMemoryPressure).LastTransitionTime; at.Sub(noon) != 10*time.Minute {
		t.Errorf("the shortage is told to be over since %s", at)
	}
}
