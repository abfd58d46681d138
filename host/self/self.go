package self

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OOMScorePath is the file of the calling process.
const OOMScorePath = "/proc/self/oom_score_adj"

// OOMScore sets the score from -1000 (never) to 1000 (first) by which the kernel chooses what it kills. Programs that the
// agent starts inherit it, as they do from upstream's kubelet.
func OOMScore(path string, score int) error {
	if err := os.WriteFile(path, []byte(strconv.Itoa(score)), 0); err != nil {
		now, _ := os.ReadFile(path) // if this fails too, err says why
		return fmt.Errorf("the score stays at %s: %w", strings.TrimSpace(string(now)), err)
	}
	return nil
}

// OpenFiles lets the process open so many files. If the machine does not let it raise its limit that far, the process gets
// as many as it may. Programs that it starts keep the limit with which it was started itself: else containers of the
// built-in runtime would get another one.
func OpenFiles(most uint64) error {
	var has unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &has); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	err := setOpenFiles(unix.Rlimit{Cur: most, Max: most})
	if err == nil || most <= has.Max {
		return err
	}
	if raised := setOpenFiles(unix.Rlimit{Cur: has.Max, Max: has.Max}); raised != nil {
		return raised
	}
	return fmt.Errorf("the process may open %d files: %w", has.Max, err)
}

// setOpenFiles makes the system call itself: the syscall package would pass the limit on to programs.
func setOpenFiles(limit unix.Rlimit) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("set the limit of open files to %d: %w", limit.Cur, errno)
	}
	return nil
}
