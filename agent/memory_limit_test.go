package agent

import (
	"log/slog"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestTheAgentKeepsToWhatItIsGiven(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	given := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/\n")}, "sys/fs/cgroup/memory.high": {Data: []byte("2147483648\n")}}
	unlimited := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/\n")}}
	for _, c := range []struct {
		name, owner string
		root        fstest.MapFS
		want        int64
	}{
		{"a limit", "", given, 1 << 30},
		{"no limit", "", unlimited, before},
		{"the owner's own", "512MiB", given, before},
	} {
		t.Run(c.name, func(t *testing.T) {
			debug.SetMemoryLimit(before)
			t.Setenv("GOMEMLIMIT", c.owner)
			limitMemory(c.root, slog.New(slog.DiscardHandler))
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
