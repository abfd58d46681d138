package agent

import (
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"

	"nodal/host/machine"
)

// limitMemory has the garbage collector work harder before the kernel has to act, where the agent's
// cgroup has a limit. The owner's GOMEMLIMIT wins; the Go runtime has read it already.
func limitMemory(root fs.FS, log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	given, err := machine.GivenMemory(root)
	if err != nil {
		log.Warn("cannot find out how much memory the agent may use", "err", err)
		return
	}
	if limit := softLimit(given); limit > 0 {
		debug.SetMemoryLimit(limit)
		log.Debug("the agent keeps its memory within a limit", "bytes", limit, "given", given)
	}
}

// softLimit returns the agent's share of what its cgroup may use, or zero for no limit. The other half is for the
// node's own containerd, for its shims and for the cache of files: they are in the same cgroup.
func softLimit(given int64) int64 { return given / 2 }
