package stats

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// tick is the kernel's unit of processor time in /proc, the same on every platform
// that Go runs on.
const tick = time.Second / 100

// machine is what the kernel tells of the node as a whole.
func (c *Collector) machine(context.Context) (func(*statsapi.Summary), error) {
	cpu, err := c.nodeCPU()
	if err != nil {
		return nil, err
	}
	memory, swap, err := c.nodeMemory()
	if err != nil {
		return nil, err
	}
	if cpu.PSI, err = c.pressure("cpu"); err != nil {
		return nil, err
	}
	if memory.PSI, err = c.pressure("memory"); err != nil {
		return nil, err
	}
	io, err := c.pressure("io")
	if err != nil {
		return nil, err
	}
	limit, err := c.processes()
	if err != nil {
		return nil, err
	}
	return func(s *statsapi.Summary) {
		s.Node.CPU, s.Node.Memory, s.Node.Swap, s.Node.Rlimit = cpu, memory, swap, limit
		if io != nil {
			s.Node.IO = &statsapi.IOStats{Time: cpu.Time, PSI: io}
		}
	}, nil
}

// nodeCPU is all time of all processors that was not idle.
func (c *Collector) nodeCPU() (*statsapi.CPUStats, error) {
	text, err := c.read("stat")
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return nil, fmt.Errorf("read the processors' time: %q makes no sense", first)
	}
	var busy uint64
	for i, field := range fields[1:9] { // what guests used is among it already
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the processors' time: %w", err)
		}
		if i != 3 && i != 4 && i != 7 { // idle, waiting for disks, taken by the hypervisor
			busy += n
		}
	}
	spent := busy * uint64(tick)
	return &statsapi.CPUStats{Time: at(time.Now()), UsageCoreNanoSeconds: &spent}, nil
}

// nodeMemory counts as upstream does: the working set is what is used but for the
// files that nobody has touched for a while.
func (c *Collector) nodeMemory() (*statsapi.MemoryStats, *statsapi.SwapStats, error) {
	text, err := c.read("meminfo")
	if err != nil {
		return nil, nil, err
	}
	has := map[string]uint64{}
	for line := range strings.Lines(text) {
		name, amount, _ := strings.Cut(line, ":")
		number, _, _ := strings.Cut(strings.TrimSpace(amount), " ")
		if kilobytes, err := strconv.ParseUint(strings.TrimSpace(number), 10, 64); err == nil {
			has[name] = kilobytes << 10
		}
	}
	total := has["MemTotal"]
	if total == 0 {
		return nil, nil, errors.New("read the machine's memory: the kernel does not say how much there is")
	}
	usage, anonymous := total-has["MemFree"], has["AnonPages"]
	working := usage - min(usage, has["Inactive(file)"])
	available := total - working
	now := at(time.Now())
	memory := &statsapi.MemoryStats{
		Time: now, UsageBytes: &usage, WorkingSetBytes: &working, AvailableBytes: &available, RSSBytes: &anonymous,
	}
	free, used := has["SwapFree"], has["SwapTotal"]-has["SwapFree"]
	return memory, &statsapi.SwapStats{Time: now, SwapAvailableBytes: &free, SwapUsageBytes: &used}, nil
}

// pressure is how long tasks have waited for something; nil where the kernel does
// not count that.
func (c *Collector) pressure(of string) (*statsapi.PSIStats, error) {
	text, err := c.read("pressure/" + of)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	psi := &statsapi.PSIStats{}
	for line := range strings.Lines(text) {
		var kind string
		var d statsapi.PSIData
		if _, err := fmt.Sscanf(line, "%s avg10=%g avg60=%g avg300=%g total=%d", &kind, &d.Avg10, &d.Avg60, &d.Avg300, &d.Total); err != nil {
			return nil, fmt.Errorf("read the pressure of %s: %w", of, err)
		}
		if kind == "full" {
			psi.Full = d
		} else {
			psi.Some = d
		}
	}
	return psi, nil
}

// processes is how many tasks there are, and may be.
func (c *Collector) processes() (*statsapi.RlimitStats, error) {
	text, err := c.read("loadavg")
	if err != nil {
		return nil, err
	}
	var load float64
	var running, now int64
	if _, err := fmt.Sscanf(text, "%g %g %g %d/%d", &load, &load, &load, &running, &now); err != nil {
		return nil, fmt.Errorf("read how many processes there are: %w", err)
	}
	limit := &statsapi.RlimitStats{Time: at(time.Now()), NumOfRunningProcesses: &now}
	for _, name := range []string{"pid_max", "threads-max"} {
		text, err := c.read("sys/kernel/" + name)
		if err != nil {
			return nil, err
		}
		most, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read how many processes there may be: %w", err)
		}
		if limit.MaxPID == nil || most < *limit.MaxPID {
			limit.MaxPID = &most
		}
	}
	return limit, nil
}

func (c *Collector) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(c.config.Proc, name))
	if err != nil {
		return "", fmt.Errorf("ask the kernel: %w", err)
	}
	return string(text), nil
}
