package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	stopTimeout  = 20 * time.Second
	ticksASecond = 100 // the kernel's USER_HZ on every architecture of ours
)

// process is a kubelet's binary at work, which may be ended and started again.
type process struct {
	path    string
	args    []string
	logPath string

	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is no more
}

func (p *process) start() error {
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", p.path, err)
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.path, err)
	}
	p.cmd, p.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		cmd.Wait() // how it ended is read from the process state, by who cares
		close(ended)
	}(p.ended)
	return nil
}

// end sends a signal and waits until the process is gone.
func (p *process) end(s syscall.Signal) error {
	if p.cmd == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", p.path, err)
	}
	select {
	case <-p.ended:
		p.cmd = nil
		return nil
	case <-time.After(stopTimeout):
	}
	p.cmd.Process.Kill()
	<-p.ended
	p.cmd = nil
	return fmt.Errorf("end %s: it was still there after %s and was killed", p.path, stopTimeout)
}

// alive fails with the end of the log if the process is gone.
func (p *process) alive() error {
	select {
	case <-p.ended:
		data, err := os.ReadFile(p.logPath)
		return errors.Join(fmt.Errorf("%s ended by itself: %s", p.path, data[max(0, len(data)-2000):]), err)
	default:
		return nil
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// cpuTime returns the CPU time of a process so far.
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	// The name in parentheses may hold anything: count from its end.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const userField, systemField = 11, 12
	var ticks int64
	for _, i := range []int{userField, systemField} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksASecond, nil
}

// memory is a process's resident set and the part that no file backs, in MiB.
func memory(pid int) (resident, anonymous float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseFloat(f[1], 64) // the first line is no number and no match
		switch f[0] {
		case "Rss:":
			resident = kib / 1024
		case "Anonymous:":
			anonymous = kib / 1024
		}
	}
	return resident, anonymous, nil
}
