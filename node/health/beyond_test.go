package health

import (
	"strings"
	"testing"
	"time"
)

func TestAThresholdThatTheNodeCannotMeetIsSetAside(t *testing.T) {
	hard := func(signal string, least int64) Rule { return Rule{Signal: signal, Least: amountOf(least)} }
	reclaiming := func(least, more int64) Rule {
		return Rule{Signal: NodeFsAvailable, Least: amountOf(least), Reclaim: amountOf(more)}
	}
	soft := Rule{Signal: MemoryAvailable, Least: amountOf(2048), Grace: time.Minute}
	for _, c := range []struct {
		name string
		rule Rule
		read Signal
		want string // crossings, and what is wrong
	}{
		{"enough is left", hard(MemoryAvailable, 1023), Signal{MemoryAvailable, 1023, 1024}, "; "},
		{"too little is left", hard(MemoryAvailable, 1023), Signal{MemoryAvailable, 1022, 1024}, "memory.available<1023 for 0s due; "},
		{"all of the node", hard(MemoryAvailable, 1024), Signal{MemoryAvailable, 10, 1024},
			"; evictionHard[memory.available]: has no effect: 1Ki would have to be left, and the node has 1Ki"},
		{"more than the node", hard(PIDAvailable, 5000), Signal{PIDAvailable, 10, 1000},
			"; evictionHard[pid.available]: has no effect: 5k would have to be left, and the node has 1k"},
		{"soft", soft, Signal{MemoryAvailable, 10, 1024},
			"; evictionSoft[memory.available]: has no effect: 2Ki would have to be left, and the node has 1Ki"},
		{"more than all pods may use", hard(AllocatableMemoryAvailable, 2048), Signal{AllocatableMemoryAvailable, 10, 1024},
			"; evictionHard[memory.available]: has no effect: 2Ki would have to be left, and all pods together may use 1Ki"},
		{"a minimum reclaim that fits", reclaiming(50, 973), Signal{NodeFsAvailable, 10, 1024}, "nodefs.available<50 for 0s due; "},
		{"a minimum reclaim that does not", reclaiming(50, 974), Signal{NodeFsAvailable, 10, 1024}, "nodefs.available<50 for 0s due; " +
			"evictionMinimumReclaim[nodefs.available]: has no effect: 1Ki would have to be left, and the node has 1Ki"},
		{"a part of the node", Rule{Signal: MemoryAvailable, Least: Threshold{Percent: 99}}, Signal{MemoryAvailable, 1010, 1024},
			"memory.available<1013 for 0s due; "},
		{"of another signal", hard(ImageFsAvailable, 2048), Signal{MemoryAvailable, 10, 1024}, "; "},
		{"a disk that does not count", hard(NodeFsInodesFree, 5), Signal{NodeFsInodesFree, 0, 0}, "nodefs.inodesFree<5 for 0s due; "},
	} {
		r := Record{Rules: []Rule{c.rule}}
		r.Take(Facts{Reading: Reading{Signals: []Signal{c.read}}}, noon)
		var wrong []string
		for _, b := range r.Pressure().Beyond {
			if !OfContainerFs(b.Signal) {
				wrong = append(wrong, b.String())
			}
		}
		if got := outline(r.Pressure().Crossings) + "; " + strings.Join(wrong, ", "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAMinimumReclaimThatCannotBeLeftDoesNotKeepAShortage(t *testing.T) {
	r := Record{Rules: []Rule{{Signal: MemoryAvailable, Least: amountOf(50), Reclaim: amountOf(1000)}}}
	for i, c := range []struct {
		left int64
		due  int
	}{{49, 1}, {50, 0}} {
		r.Take(Facts{Reading: Reading{Signals: []Signal{{MemoryAvailable, c.left, 1000}}}}, noon.Add(time.Duration(i)*time.Second))
		if got := len(r.Pressure().Due()); got != c.due {
			t.Errorf("with %d left: %d crossings are due, want %d", c.left, got, c.due)
		}
	}
}
