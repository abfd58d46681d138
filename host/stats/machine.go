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

	"github.com/google/cadvisor/lib/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// tick is the kernel's unit of processor time in /proc, the same on every platform
// that Go runs on.
const tick = time.Second / 100

// processors reads the time that all processors together were not idle.
func (c *Collector) processors(context.Context) (func(*collection), error) {
	text, err := c.read("stat")
	if err != nil {
		return nil, err
	}
	psi, err := c.pressure("cpu")
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return nil, fmt.Errorf("read the processors' time: %q makes no sense", first)
	}
	var busy uint64
	var usage model.CpuUsage
	for i, field := range fields[1:9] { // the first fields include the time of guests
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the processors' time: %w", err)
		}
		if i != 3 && i != 4 && i != 7 { // idle, waiting for disks, taken by the hypervisor
			busy += n
		}
		switch i {
		case 0, 1: // user, nice
			usage.User += n * uint64(tick)
		case 2, 5, 6: // system, interrupts
			usage.System += n * uint64(tick)
		}
	}
	spent := busy * uint64(tick)
	usage.Total = spent
	cpu := &statsapi.CPUStats{Time: at(time.Now()), UsageCoreNanoSeconds: &spent, PSI: psi}
	return func(s *collection) { s.Node.CPU, s.cpu = cpu, usage }, nil
}

// memory reads the memory figures as Kubernetes has them: the working set is the used memory without the file pages
// that were not touched for a while.
func (c *Collector) memory(context.Context) (func(*collection), error) {
	has, err := c.meminfo()
	if err != nil {
		return nil, err
	}
	psi, err := c.pressure("memory")
	if err != nil {
		return nil, err
	}
	total := has["MemTotal"]
	if total == 0 {
		return nil, errors.New("read the machine's memory: the kernel does not report its size")
	}
	usage, anonymous := total-has["MemFree"], has["AnonPages"]
	working := usage - min(usage, has["Inactive(file)"])
	available := total - working
	now := at(time.Now())
	memory := &statsapi.MemoryStats{
		Time: now, UsageBytes: &usage, WorkingSetBytes: &working, AvailableBytes: &available, RSSBytes: &anonymous, PSI: psi,
	}
	free, used := has["SwapFree"], has["SwapTotal"]-has["SwapFree"]
	swap := &statsapi.SwapStats{Time: now, SwapAvailableBytes: &free, SwapUsageBytes: &used}
	return func(s *collection) { s.Node.Memory, s.Node.Swap = memory, swap }, nil
}

// meminfo reads the kernel's memory figures, in bytes.
func (c *Collector) meminfo() (map[string]uint64, error) {
	text, err := c.read("meminfo")
	if err != nil {
		return nil, err
	}
	has := map[string]uint64{}
	for line := range strings.Lines(text) {
		name, amount, _ := strings.Cut(line, ":")
		number, _, _ := strings.Cut(strings.TrimSpace(amount), " ")
		if kilobytes, err := strconv.ParseUint(strings.TrimSpace(number), 10, 64); err == nil {
			has[name] = kilobytes << 10
		}
	}
	return has, nil
}

// disks reads how long tasks have waited for disks.
func (c *Collector) disks(context.Context) (func(*collection), error) {
	psi, err := c.pressure("io")
	if psi == nil {
		return func(*collection) {}, err
	}
	io := &statsapi.IOStats{Time: at(time.Now()), PSI: psi}
	return func(s *collection) { s.Node.IO = io }, nil
}

// pressure reads how long tasks have waited for a resource. It returns nil if the
// kernel does not count that.
func (c *Collector) pressure(of string) (*statsapi.PSIStats, error) {
	text, err := c.read("pressure/" + of)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	psi := parsePressure(text)
	return &psi, nil
}

// parsePressure reads lines such as "some avg10=1.50 avg60=0.00 avg300=0.00 total=42".
func parsePressure(text string) (psi statsapi.PSIStats) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 5 {
			continue
		}
		var d statsapi.PSIData
		for i, to := range []*float64{&d.Avg10, &d.Avg60, &d.Avg300} {
			_, value, _ := strings.Cut(fields[i+1], "=")
			*to, _ = strconv.ParseFloat(value, 64)
		}
		_, value, _ := strings.Cut(fields[4], "=")
		d.Total, _ = strconv.ParseUint(value, 10, 64)
		if fields[0] == "full" {
			psi.Full = d
		} else {
			psi.Some = d
		}
	}
	return psi
}

// processes reads the number of tasks and its limit.
func (c *Collector) processes(context.Context) (func(*collection), error) {
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
	return func(s *collection) { s.Node.Rlimit = limit }, nil
}

func (c *Collector) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(c.config.Proc, name))
	if err != nil {
		return "", fmt.Errorf("ask the kernel: %w", err)
	}
	return string(text), nil
}
