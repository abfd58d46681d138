package service

import (
	"fmt"
	"strings"
	"testing"
)

// It is put together late, as in ours: a test of that reads this very program.
var stampOfOurs = fmt.Sprintf("path\t%s\n", "nodal/cmd/kubelet")

// installed is a machine with a program, and another program to replace it by.
func installed(t *testing.T) (m prepared, newer string) {
	t.Helper()
	m = machine(t)
	m.install(t)
	m.write(t, Program, "old "+stampOfOurs)
	m.write(t, "/tmp/newer", "new "+stampOfOurs)
	return m, m.path("/tmp/newer")
}

// A loss of power may come between any two steps. What is in place is then a whole program, and the unit knows which.
func TestAnUpdateThatIsCutShortIsFinishedOrTakenBack(t *testing.T) {
	for cut := 0; ; cut++ {
		m, newer := installed(t)
		if _, err := m.BringUpdate(newer); err != nil {
			t.Fatal(err)
		}
		steps, err := m.BeginUpdate(Update{From: "1", To: "2", Stage: Trying})
		if err != nil {
			t.Fatal(err)
		}
		if cut > len(steps) {
			return
		}
		m.do(t, steps[:cut])
		began, err := m.UpdateBegan()
		if err != nil {
			t.Fatal(err)
		}
		placed := m.content(t, m.path(Program))
		if want := map[bool]string{true: "new ", false: "old "}[began] + stampOfOurs; placed != want {
			t.Errorf("after %d steps the program is %q, and the update has begun: %t", cut, placed, began)
		}
		if !began {
			continue
		}
		if u, err := m.Update(); err != nil || u.Stage != Trying || m.UpdateUnderWay() == nil {
			t.Fatalf("after %d steps the new program is in place, and nothing would take it back: %v, %v", cut, u, err)
		}
		m.do(t, m.GoBack())
		if got := m.content(t, m.path(Program)); !strings.HasPrefix(got, "old ") {
			t.Errorf("after %d steps the way back leads to %q", cut, got)
		}
	}
}

func TestAfterAnUpdateTheWayBackIsLeftAlone(t *testing.T) {
	m, newer := installed(t)
	if _, err := m.BringUpdate(newer); err != nil {
		t.Fatal(err)
	}
	steps, err := m.BeginUpdate(Update{Stage: Trying})
	if err != nil {
		t.Fatal(err)
	}
	m.do(t, steps)
	if _, err := Install(m.Config); err == nil || !strings.Contains(err.Error(), "an update is under way") {
		t.Errorf("install in the middle of an update: got %v", err)
	}
	if _, err := m.BringUpdate(newer); err == nil || !strings.Contains(err.Error(), "an update is under way") {
		t.Errorf("another update in the middle of one: got %v", err)
	}
	m.do(t, m.EndUpdate())
	if err := m.UpdateUnderWay(); err != nil {
		t.Errorf("after its end: %v", err)
	}
	if got := m.content(t, m.path(Previous)); got != "old "+stampOfOurs {
		t.Errorf("the way back is %q", got)
	}
	// The way back is an update as well, from a file that this update writes.
	if _, err := m.BringUpdate(m.path(Previous)); err != nil {
		t.Fatal(err)
	}
	if steps, err = m.BeginUpdate(Update{Stage: Trying}); err != nil {
		t.Fatal(err)
	}
	m.do(t, steps)
	if got := m.content(t, m.path(Program)) + m.content(t, m.path(Previous)); got != "old "+stampOfOurs+"new "+stampOfOurs {
		t.Errorf("after going back: got %q", got)
	}
	m.do(t, m.back(true))
	m.wantFiles(t, map[string]string{"tmp/newer": "new " + stampOfOurs})
}

func TestOnlyAProgramOfOursIsAnUpdate(t *testing.T) {
	m, _ := installed(t)
	m.write(t, "/tmp/other", "#!/bin/sh\n")
	for file, want := range map[string]string{"/tmp/other": "is not a program of ours", "/tmp/none": "no such file"} {
		if _, err := m.BringUpdate(m.path(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", file, err, want)
		}
	}
	bare := machine(t)
	bare.write(t, "/tmp/newer", stampOfOurs)
	if _, err := bare.BringUpdate(bare.path("/tmp/newer")); err == nil || !strings.Contains(err.Error(), "kubelet install") {
		t.Errorf("on a machine without the service: got %v", err)
	}
}
