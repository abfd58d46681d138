package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func amountOf(n int64) Threshold {
	return Threshold{Quantity: *resource.NewQuantity(n, resource.BinarySI)}
}

// outline prints the crossings in a few words.
func outline(crossings []Crossing) string {
	var words []string
	for _, c := range crossings {
		word := fmt.Sprintf("%s<%d for %s", c.Rule.Signal, c.Least, c.Grace)
		if c.Due {
			word += " due"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func TestCrossingsFollowTheirRules(t *testing.T) {
	hard := Rule{Signal: MemoryAvailable, Least: amountOf(50), Reclaim: amountOf(20)}
	soft := Rule{Signal: MemoryAvailable, Least: Threshold{Percent: 10}, Grace: time.Minute}
	r := Record{Rules: []Rule{soft, hard}}
	for _, step := range []struct {
		name   string
		second int
		left   int64 // of 1000
		want   string
	}{
		{"enough is left", 0, 100, ""},
		{"the soft threshold is crossed", 10, 99, "memory.available<100 for 1m0s"},
		{"its grace is not over", 69, 99, "memory.available<100 for 1m0s"},
		{"it recovers, and the grace begins anew", 69, 100, ""},
		{"crossed again", 71, 60, "memory.available<100 for 1m0s"},
		{"the hard one is crossed, and due at once", 80, 49, "memory.available<50 for 0s due, memory.available<100 for 1m0s"},
		{"the hard one stands until its minimum is reclaimed", 90, 69, "memory.available<50 for 0s due, memory.available<100 for 1m0s"},
		{"it is over then", 100, 70, "memory.available<100 for 1m0s"},
		{"and is not due again above its threshold", 110, 60, "memory.available<100 for 1m0s"},
		{"the grace of the soft one is over", 131, 60, "memory.available<100 for 1m0s due"},
		{"all is well", 140, 100, ""},
	} {
		r.Take(Facts{Reading: Reading{Signals: []Signal{{MemoryAvailable, step.left, 1000}}}}, noon.Add(time.Duration(step.second)*time.Second))
		if got := outline(r.Pressure().Crossings); got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
}

func TestMemoryIsAnsweredBeforeDisksAndDisksBeforeProcesses(t *testing.T) {
	var r Record
	reading := Reading{Apart: true}
	for _, name := range []string{PIDAvailable, ImageFsAvailable, NodeFsInodesFree, NodeFsAvailable, AllocatableMemoryAvailable, MemoryAvailable} {
		r.Rules = append(r.Rules, Rule{Signal: name, Least: amountOf(10)})
		reading.Signals = append(reading.Signals, Signal{name, 1, 100})
	}
	reading.Signals = append(reading.Signals, Signal{"containerfs.available", 1, 100})
	r.Take(Facts{Reading: reading}, noon)
	var got []string
	for _, c := range r.Pressure().Due() {
		got = append(got, c.Rule.Signal)
	}
	want := "memory.available allocatableMemory.available nodefs.available nodefs.inodesFree imagefs.available containerfs.available pid.available"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheDiskOfContainersHasTheThresholdsOfTheDiskThatItIs(t *testing.T) {
	rules := []Rule{{Signal: NodeFsAvailable, Least: amountOf(30)}, {Signal: ImageFsAvailable, Least: amountOf(10), Grace: time.Minute}}
	for apart, want := range map[bool]string{
		false: "nodefs.available<30 for 0s due, containerfs.available<30 for 0s due",
		true:  "nodefs.available<30 for 0s due",
	} {
		r := Record{Rules: rules}
		r.Take(Facts{Reading: Reading{Apart: apart, Signals: []Signal{
			{NodeFsAvailable, 20, 100}, {ImageFsAvailable, 20, 100}, {"containerfs.available", 20, 100},
		}}}, noon)
		if got := outline(r.Pressure().Crossings); got != want {
			t.Errorf("apart %t: got %q, want %q", apart, got, want)
		}
	}
}

func TestAnUnreadSignalIsNotAnsweredAndKeepsItsGrace(t *testing.T) {
	r := Record{Rules: []Rule{{Signal: PIDAvailable, Least: amountOf(10), Grace: time.Minute}}}
	low := Facts{Reading: Reading{Signals: []Signal{{PIDAvailable, 1, 100}}}}
	r.Take(low, noon)
	r.Take(Facts{Reading: Reading{Unread: []Unread{{PIDAvailable, "no such file"}}}}, noon.Add(time.Hour))
	if due := r.Pressure().Due(); len(due) > 0 {
		t.Errorf("unread, and %s is due", outline(due))
	}
	if got := condition(t, &r, corev1.NodePIDPressure).Status; got != corev1.ConditionUnknown {
		t.Errorf("unread, and the condition is %s", got)
	}
	r.Take(low, noon.Add(time.Hour))
	if got := outline(r.Pressure().Due()); got != "pid.available<10 for 1m0s due" {
		t.Errorf("got %q, want the old crossing due", got)
	}
}

func TestTheGapIsToTheHighestThreshold(t *testing.T) {
	p := Pressure{Rules: []Rule{{Signal: PIDAvailable, Least: amountOf(10)}, {Signal: PIDAvailable, Least: amountOf(30), Grace: time.Hour}, {Signal: MemoryAvailable}}}
	if gap, bounded := p.Gap(Signal{PIDAvailable, 25, 100}); gap != -5 || !bounded {
		t.Errorf("got %d, %t; want -5", gap, bounded)
	}
	if _, bounded := p.Gap(Signal{MemoryAvailable, 25, 100}); bounded {
		t.Error("a threshold of nothing bounds memory")
	}
}

func TestWhatWouldBeUsedBesidesCrossesRules(t *testing.T) {
	p := Pressure{
		Reading: Reading{Signals: []Signal{
			{Name: MemoryAvailable, Left: 100, Capacity: 1000}, {Name: NodeFsAvailable, Left: 90, Capacity: 1000}, {Name: PIDAvailable, Left: 1, Capacity: 10},
		}},
		Rules: []Rule{
			{Signal: NodeFsAvailable, Least: amountOf(50)}, {Signal: MemoryAvailable, Least: amountOf(50)},
			{Signal: PIDAvailable, Least: amountOf(2)}, {Signal: ImageFsAvailable, Least: amountOf(50)},
		},
		Crossings: []Crossing{{Rule: Rule{Signal: PIDAvailable}}},
	}
	for _, c := range []struct {
		name         string
		memory, disk int64
		want         string
	}{
		{"nothing", 0, 0, ""},
		{"as much as is left above the threshold", 50, 40, ""},
		{"more memory", 51, 0, "memory.available<50 for 0s"},
		{"more of both, the most urgent first", 51, 41, "memory.available<50 for 0s, nodefs.available<50 for 0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			more := corev1.ResourceList{
				corev1.ResourceMemory:           *resource.NewQuantity(c.memory, resource.BinarySI),
				corev1.ResourceEphemeralStorage: *resource.NewQuantity(c.disk, resource.BinarySI),
			}
			if got := outline(p.With(more)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
