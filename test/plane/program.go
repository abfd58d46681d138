package plane

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Program runs, may be killed, and started again. It ends with the process that
// runs it.
type Program struct {
	Path string
	Args []string
	Log  string // file that it writes to, of all its lives

	cmd *exec.Cmd // nil: it does not run
}

// Begin starts the program.
func (p *Program) Begin() error {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", p.Path, err)
	}
	defer log.Close()
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Path, err)
	}
	p.cmd = cmd
	return nil
}

// End kills the program, as a crash would.
func (p *Program) End() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Kill() // fails only if it is gone already
	p.cmd.Wait()         // it was killed
	p.cmd = nil
}

// LogTail is the end of what it has written.
func (p *Program) LogTail() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}
