package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

func TestTransactReadsItsOwnWrites(t *testing.T) {
	s := openStore(t, newMemory())
	put(t, s, map[string]*node.Slot{"web": slotOf("web", "u1"), "old": slotOf("old", "u9"), "db": slotOf("db", "u5")})
	mine := slotOf("web", "u2")
	mine.Next = podOf("web", "u3")
	_, err := s.Transact(func(tx *Tx) error {
		tx.Put(key("web"), mine)
		tx.Put(key("old"), nil)
		if got := tx.Get(key("web")); got != mine {
			t.Errorf("Get(web) = %v, want what was put", got)
		}
		if got := tx.Get(key("old")); got != nil {
			t.Errorf("Get(old) = %v, want nil", got)
		}
		for uid, want := range map[types.UID]string{"u2": "web", "u3": "web", "u5": "db", "u1": "", "u9": "", "": ""} {
			if got, found := tx.ByUID(uid); got.Name != want || found != (want != "") {
				t.Errorf("ByUID(%q) = %s, %t, want %q", uid, got, found, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFailedTransactionLeavesNothing(t *testing.T) {
	broken := errors.New("broken")
	cases := []struct {
		name    string
		journal error
		fn      error
	}{
		{"when its function fails", nil, broken},
		{"when the journal fails", broken, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			journal := newMemory()
			s := openStore(t, journal)
			put(t, s, map[string]*node.Slot{"web": slotOf("web", "u1")})
			records, revision, changed := journal.all(), s.Revision(), s.Changed()
			journal.fail = c.journal
			_, err := s.Transact(func(tx *Tx) error {
				tx.Put(key("web"), nil)
				tx.Put(key("db"), slotOf("db", "u2"))
				return c.fn
			})
			if !errors.Is(err, broken) {
				t.Errorf("err = %v, want %v", err, broken)
			}
			if got := names(s); got != "web=u1" {
				t.Errorf("pods = %s, want web=u1", got)
			}
			if got := journal.all(); len(got) != len(records) || s.Revision() != revision {
				t.Errorf("records, revision = %d, %d, want %d, %d", len(got), s.Revision(), len(records), revision)
			}
			select {
			case <-changed:
				t.Error("watchers were woken")
			default:
			}
			journal.fail = nil
			put(t, s, map[string]*node.Slot{"db": slotOf("db", "u2")})
			if got, want := names(s), "db=u2 web=u1"; got != want {
				t.Errorf("pods afterwards = %s, want %s", got, want)
			}
		})
	}
}

func TestTransactionWithoutWritesIsNoRevision(t *testing.T) {
	s := openStore(t, newMemory())
	before := put(t, s, map[string]*node.Slot{"web": slotOf("web", "u1")})
	if got, err := s.Transact(func(*Tx) error { return nil }); got != before || err != nil {
		t.Errorf("revision = %d, %v, want %d", got, err, before)
	}
	// Forgetting a missing key changes nothing that readers see.
	if got := put(t, s, map[string]*node.Slot{"gone": nil}); got != before {
		t.Errorf("revision = %d, want %d", got, before)
	}
}

func TestReservedTransactionPassesAFullDisk(t *testing.T) {
	journal := newMemory()
	s := openStore(t, journal)
	put(t, s, map[string]*node.Slot{"web": slotOf("web", "u1")})
	journal.fail = node.ErrNoSpace
	_, err := s.Transact(func(tx *Tx) error {
		tx.Reserved()
		tx.Put(key("web"), nil)
		return nil
	})
	if err != nil || names(s) != "" {
		t.Errorf("pods = %s, %v, want none", names(s), err)
	}
}

func TestObservedStaysWithTheKey(t *testing.T) {
	s := openStore(t, newMemory())
	got := &node.Observed{Mark: 7}
	s.Observe(key("web"), got)
	if _, ok := s.View(key("web")); ok {
		t.Error("an observation made a pod")
	}
	put(t, s, map[string]*node.Slot{"web": slotOf("web", "u1")})
	s.Observe(key("web"), got)
	revision := put(t, s, map[string]*node.Slot{"web": slotOf("web", "u2")})
	view, _ := s.View(key("web"))
	if view.Got != got || view.Slot.Pod.UID() != "u2" || view.Revision != revision {
		t.Errorf("view = %+v, want u2 with its observation at %d", view, revision)
	}
	// A new pod under the name begins with nothing observed.
	put(t, s, map[string]*node.Slot{"web": nil})
	put(t, s, map[string]*node.Slot{"web": slotOf("web", "u3")})
	if view, _ = s.View(key("web")); view.Got == got || !view.Got.Empty() {
		t.Errorf("observed = %+v, want nothing", view.Got)
	}
}

func TestSince(t *testing.T) {
	s := openStore(t, newMemory())
	start := s.Revision()
	put(t, s, map[string]*node.Slot{"a": slotOf("a", "u1")})
	second := put(t, s, map[string]*node.Slot{"b": slotOf("b", "u2")})
	s.Observe(key("a"), &node.Observed{Mark: 1})
	last := put(t, s, map[string]*node.Slot{"b": nil})
	cases := []struct {
		name  string
		since int64
		want  string
	}{
		{"from the start each pod comes once, in its latest state", start, "a -b"},
		{"from the middle only what changed later comes", second, "a -b"},
		{"from the last change but one", last - 1, "-b"},
		{"from the present nothing comes", last, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			views, now, err := s.Since(c.since)
			if err != nil {
				t.Fatal(err)
			}
			if got := tell(views); got != c.want || now != last {
				t.Errorf("Since(%d) = %q, %d, want %q, %d", c.since, got, now, c.want, last)
			}
		})
	}
	t.Run("a tombstone shows the pod's last state", func(t *testing.T) {
		views, _, _ := s.Since(last - 1)
		if got := views[0]; got.Slot.Pod.UID() != "u2" || got.Revision != last {
			t.Errorf("tombstone = %+v, want u2 at %d", got, last)
		}
	})
	t.Run("a pod that came back follows its tombstone", func(t *testing.T) {
		put(t, s, map[string]*node.Slot{"b": slotOf("b", "u3")})
		views, _, _ := s.Since(start)
		if got, want := tell(views), "a -b b"; got != want {
			t.Errorf("Since(start) = %q, want %q", got, want)
		}
	})
}

func TestSinceNeverHidesAGap(t *testing.T) {
	s := openStore(t, newMemory())
	start := s.Revision()
	var firstGone int64
	for i := range keptTombstone + 1 {
		name := fmt.Sprint("p", i)
		put(t, s, map[string]*node.Slot{name: slotOf(name, "u")})
		if gone := put(t, s, map[string]*node.Slot{name: nil}); i == 0 {
			firstGone = gone
		}
	}
	for since, want := range map[int64]error{
		start: node.ErrCompacted, firstGone - 1: node.ErrCompacted, firstGone: nil, s.Revision(): nil, s.Revision() + 1: node.ErrCompacted,
	} {
		if _, _, err := s.Since(since); !errors.Is(err, want) {
			t.Errorf("Since(%d) = %v, want %v", since, err, want)
		}
	}
	if views, _, _ := s.Since(firstGone); len(views) != keptTombstone {
		t.Errorf("changes = %d, want the %d tombstones that are kept", len(views), keptTombstone)
	}
}

func TestChangedWakes(t *testing.T) {
	s := openStore(t, newMemory())
	changed := s.Changed()
	put(t, s, map[string]*node.Slot{"web": slotOf("web", "u1")})
	select {
	case <-changed:
	default:
		t.Error("a transaction woke nobody")
	}
	changed = s.Changed()
	s.Observe(key("web"), &node.Observed{})
	select {
	case <-changed:
	default:
		t.Error("an observation woke nobody")
	}
}

// A reader that takes Changed before it reads sees every pod in its last state,
// whatever it misses in between.
func TestWatcherSeesTheLastState(t *testing.T) {
	s := openStore(t, newMemory())
	const pods, rounds = 4, 200
	seen := make(chan map[string]types.UID)
	start := s.Revision()
	go func() {
		state := map[string]types.UID{}
		at := start
		for done := 0; done < pods; {
			changed := s.Changed()
			views, now, err := s.Since(at)
			if err != nil {
				t.Error(err)
				break
			}
			for _, v := range views {
				state[v.Key.Name] = v.Slot.Pod.UID()
				if v.Slot.Pod.UID() == types.UID(fmt.Sprint(rounds-1)) {
					done++
				}
			}
			if at = now; len(views) == 0 {
				<-changed
			}
		}
		seen <- state
	}()
	for i := range pods {
		go func() {
			name := fmt.Sprint("p", i)
			for round := range rounds {
				if _, err := s.Transact(func(tx *Tx) error {
					tx.Put(key(name), slotOf(name, types.UID(fmt.Sprint(round))))
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	if got := <-seen; len(got) != pods {
		t.Errorf("state = %v, want %d pods", got, pods)
	}
}

func names(s *Store) string {
	var names []string
	views, _ := s.Views()
	for _, v := range views {
		names = append(names, fmt.Sprintf("%s=%s", v.Key.Name, v.Slot.Pod.UID()))
	}
	return strings.Join(names, " ")
}

func tell(views []View) string {
	if !slices.IsSortedFunc(views, func(a, b View) int { return int(a.Revision - b.Revision) }) {
		return "not in the order of their revisions"
	}
	var told []string
	for _, v := range views {
		name := v.Key.Name
		if v.Gone {
			name = "-" + name
		}
		told = append(told, name)
	}
	return strings.Join(told, " ")
}

func TestUIDsAreFoundAsSlotsComeAndGo(t *testing.T) {
	s := openStore(t, newMemory())
	both := slotOf("web", "u1")
	both.Next = podOf("web", "u2")
	held := func() string {
		var text []string
		for _, uid := range []types.UID{"u1", "u2", "u3"} {
			if s.Holds(uid) {
				text = append(text, string(uid))
			}
		}
		return strings.Join(text, " ")
	}
	for _, step := range []struct {
		slot *node.Slot
		want string
	}{{both, "u1 u2"}, {slotOf("web", "u2"), "u2"}, {slotOf("web", "u3"), "u3"}, {nil, ""}, {slotOf("web", "u1"), "u1"}} {
		put(t, s, map[string]*node.Slot{"web": step.slot})
		s.Observe(key("web"), &node.Observed{})
		if got := held(); got != step.want {
			t.Errorf("held %q, want %q", got, step.want)
		}
	}
}

func TestTryKeepsNothing(t *testing.T) {
	journal := newMemory()
	s := openStore(t, journal)
	before := s.Revision()
	if err := s.Try(func(tx *Tx) error {
		tx.Put(key("web"), slotOf("web", "u1"))
		if tx.Get(key("web")) == nil {
			t.Error("what was put is not seen in the same transaction")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := names(s); got != "" || s.Revision() != before || journal.records["pods/default_web"] != nil {
		t.Errorf("kept %q at revision %d, want nothing at %d", got, s.Revision(), before)
	}
}
