package agent

import (
	"log/slog"

	"golang.org/x/sys/unix"
)

// forbidCoreDumps keeps the agent's memory, which holds keys, tokens and Secrets, out of files. Programs that the agent
// starts are not affected: a limit of their core dumps would be inherited by the containers.
func forbidCoreDumps(log *slog.Logger) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		log.Warn("a crash of the agent may leave its memory in a core dump", "err", err)
	}
}
