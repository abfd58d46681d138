package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	stopTimeout  = 20 * time.Second
	ticksASecond = 100 // USER_HZ on every architecture that we build for
)

// cpuTime returns the CPU time of a process.
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

// memory returns a process's resident set and its anonymous part, in MiB.
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
		kib, _ := strconv.ParseFloat(f[1], 64) // the first line holds no number and matches no key
		switch f[0] {
		case "Rss:":
			resident = kib / 1024
		case "Anonymous:":
			anonymous = kib / 1024
		}
	}
	return resident, anonymous, nil
}
