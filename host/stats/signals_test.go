package stats

import (
	"strings"
	"testing"
)

func TestSignalsOmitResourcesThatCannotBeRead(t *testing.T) {
	c := collector(t, &scripted{})
	c.config.Root = t.TempDir()
	reading := c.Signals(t.Context())
	signals, unread := reading.Signals, reading.Unread
	if len(unread) != 1 || unread[0].Name != "imagefs.available" || !strings.Contains(unread[0].Why, "no images here") {
		t.Errorf("got %v unread, want images alone", unread)
	}
	left := map[string]int64{}
	for _, s := range signals {
		left[s.Name] = s.Left
		if s.Left < 0 || s.Left > s.Capacity {
			t.Errorf("%s: %d of %d are left", s.Name, s.Left, s.Capacity)
		}
	}
	// The machine has 1,000 kB, of which 600 are in use and 100 of these idle.
	if left["memory.available"] != 500<<10 || left["pid.available"] != 3000-321 || left["nodefs.available"] == 0 {
		t.Errorf("got %v", left)
	}
}
