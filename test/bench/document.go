package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed document.md.tmpl
var documentText string

// machine describes the machine of the run.
type machine struct {
	Cores                    int
	Memory                   string
	Load                     string // load averages at the start of the run
	Kernel, Containerd, Runc string
	Go, Commit, Peer         string
}

// lookAtMachine describes the machine. It leaves out facts that it cannot get: the figures are of
// use without them.
func lookAtMachine(ctx context.Context, bin binaries) machine {
	m := machine{
		Cores: runtime.NumCPU(), Go: runtime.Version(),
		Containerd: firstLine(ctx, "containerd", "--version"), Runc: firstLine(ctx, "runc", "--version"),
		Commit: firstLine(ctx, "git", "describe", "--always", "--dirty"), Peer: "none",
	}
	if bin.peer != "" {
		m.Peer = firstLine(ctx, bin.peer, "--version")
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		m.Memory = fmt.Sprintf("%d GiB", uint64(info.Totalram)*uint64(info.Unit)>>30)
	}
	return m
}

func firstLine(ctx context.Context, command string, args ...string) string {
	out, err := exec.CommandContext(ctx, command, args...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// loadAverage returns how busy the machine is.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	f := strings.Fields(string(data))
	return strings.Join(f[:min(3, len(f))], " ")
}

// document returns the text of docs/BENCHMARKS.md.
func (b *suite) document(m machine) (string, error) {
	m.Load = b.load
	parsed, err := template.New("document").Parse(documentText)
	if err != nil {
		return "", fmt.Errorf("parse the document: %w", err)
	}
	var met, missed int
	for _, r := range b.rows {
		switch r.verdict() {
		case verdictMet:
			met++
		case verdictMissed:
			missed++
		}
	}
	var out strings.Builder
	err = parsed.Execute(&out, map[string]any{
		"Machine": m, "Date": b.started.UTC().Format(time.DateOnly), "Minutes": fmt.Sprintf("%.0f", time.Since(b.started).Minutes()),
		"Table": b.markdown(), "Notes": slices.Concat(b.gaps, b.notes), "Met": met, "Missed": missed,
	})
	if err != nil {
		return "", fmt.Errorf("write the document: %w", err)
	}
	return out.String(), nil
}
