package command

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestALinkThatCannotBeHadIsExplained(t *testing.T) {
	away := filepath.Join(t.TempDir(), "node.sock")
	_, err := askLinks(t.Context(), away)
	if want := "no node answers at " + away; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "start it") {
		t.Errorf("without a node: got %v, want %s and what to do", err, want)
	}
	denied := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}
	if got, want := unanswered("/x", fmt.Errorf("post: %w", denied)).Error(), "socket /x: permission denied; run it with sudo"; got != want {
		t.Errorf("as another user: got %s, want %s", got, want)
	}
}
