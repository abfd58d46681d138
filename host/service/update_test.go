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

// bring brings a new program, and lists the steps of its update.
func (p prepared) bring(t *testing.T, file string) []Step {
	t.Helper()
	_, held, err := p.BringUpdate(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { held.Close() })
	steps, err := p.BeginUpdate(Update{From: "1", To: "2", Stage: Trying})
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// A loss of power may come between any two steps. The unit, if it is there, has all that it needs then.
func TestAnUpdateThatIsCutShortIsFinishedOrTakenBack(t *testing.T) {
	for cut := 0; ; cut++ {
		m, newer := installed(t)
		steps := m.bring(t, newer)
		if cut > len(steps) {
			return
		}
		m.do(t, steps[:cut])
		if got := m.content(t, m.path(Program)); got != "old "+stampOfOurs {
			t.Errorf("after %d steps the program is %q, and no unit watches it", cut, got)
		}
		if m.UpdateUnderWay() == nil {
			continue
		}
		if u, err := m.Update(); err != nil || u.Stage != Trying {
			t.Fatalf("after %d steps the unit is there, and its record is %v, %v", cut, u, err)
		}
		if got := m.content(t, m.path(finisher)); got != m.content(t, m.Program) {
			t.Errorf("after %d steps the unit would run %q", cut, got)
		}
		if m.IsBack() {
			t.Errorf("after %d steps nothing has run yet, and it counts as taken back", cut)
		}
		for range 2 { // each step may be repeated
			m.do(t, []Step{m.PlaceUpdate()})
			if got := m.content(t, m.path(Program)); got != "new "+stampOfOurs {
				t.Errorf("after %d steps the unit puts %q in place", cut, got)
			}
		}
		for range 2 {
			m.do(t, []Step{m.GoBack()})
			if got := m.content(t, m.path(Program)); got != "old "+stampOfOurs || !m.IsBack() {
				t.Errorf("after %d steps the way back leads to %q, and was taken: %t", cut, got, m.IsBack())
			}
		}
	}
}

func TestAfterAnUpdateTheWayBackIsLeftAlone(t *testing.T) {
	m, newer := installed(t)
	_, held, err := m.BringUpdate(newer)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.BringUpdate(newer); err == nil || !strings.Contains(err.Error(), "another update is being prepared") {
		t.Errorf("a second update at the same time: got %v", err)
	}
	must(t, held.Close())
	m.do(t, m.bring(t, newer))
	if _, err := Install(m.Config); err == nil || !strings.Contains(err.Error(), "an update is under way") {
		t.Errorf("install in the middle of an update: got %v", err)
	}
	m.do(t, append([]Step{m.PlaceUpdate()}, m.EndUpdate()...))
	if err := m.UpdateUnderWay(); err != nil {
		t.Errorf("after its end: %v", err)
	}
	if got := m.content(t, m.path(Previous)); got != "old "+stampOfOurs {
		t.Errorf("the way back is %q", got)
	}
}

func TestTheWayBackIsAnUpdate(t *testing.T) {
	m, newer := installed(t)
	update := func(file string) {
		t.Helper()
		_, held, err := m.BringUpdate(file)
		must(t, err)
		steps, err := m.BeginUpdate(Update{Stage: Trying})
		must(t, err)
		m.do(t, append(append(steps, m.PlaceUpdate()), m.EndUpdate()...))
		must(t, held.Close())
	}
	update(newer)
	update(m.path(Previous))
	if got := m.content(t, m.path(Program)) + m.content(t, m.path(Previous)); got != "old "+stampOfOurs+"new "+stampOfOurs {
		t.Errorf("after going back: got %q", got)
	}
	m.do(t, m.back(true))
	m.wantFiles(t, map[string]string{"tmp/newer": "new " + stampOfOurs})
}

func TestANewProgramDoesNotJudgeItself(t *testing.T) {
	m, newer := installed(t)
	m.Program = newer
	if _, _, err := m.BringUpdate(newer); err == nil || !strings.Contains(err.Error(), "would judge itself") {
		t.Errorf("got %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnlyAProgramOfOursIsAnUpdate(t *testing.T) {
	m, _ := installed(t)
	m.write(t, "/tmp/other", "#!/bin/sh\n")
	for file, want := range map[string]string{"/tmp/other": "is not a program of ours", "/tmp/none": "no such file"} {
		if _, _, err := m.BringUpdate(m.path(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", file, err, want)
		}
	}
	bare := machine(t)
	bare.write(t, "/tmp/newer", stampOfOurs)
	if _, _, err := bare.BringUpdate(bare.path("/tmp/newer")); err == nil || !strings.Contains(err.Error(), "kubelet install") {
		t.Errorf("on a machine without the service: got %v", err)
	}
}
