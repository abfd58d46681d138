package nodelog

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"nodal/node"
)

// The logs that every node knows by name. Units of systemd have a dot in theirs.
const (
	agent   = "agent"
	runtime = "runtime"
	kernel  = "kernel"
)

// Logs reads the logs of the machine by their names.
type Logs struct {
	Journal Journal
	Agent   Place
	Runtime string // the log of the agent's own container runtime; empty if the runtime is not its own
	Kernel  string // the device of the kernel's log
}

// List returns the logs, the machine's own before the units of systemd. Its error says why no units are listed.
func (l Logs) List(ctx context.Context) ([]node.NodeLog, error) {
	there := l.Journal.there()
	all := []node.NodeLog{l.agentLog(there)}
	if l.Runtime != "" {
		all = append(all, node.NodeLog{Name: runtime, Place: l.Runtime, Times: true})
	}
	all = append(all, l.kernelLog(there))
	if !there {
		return all, nil
	}
	units, err := l.Journal.units(ctx)
	for _, unit := range units {
		all = append(all, node.NodeLog{Name: unit, Place: "journal", Times: true, Boots: true})
	}
	return all, err
}

func (l Logs) agentLog(journal bool) node.NodeLog {
	switch {
	case l.Agent.Unit != "" && journal:
		return node.NodeLog{Name: agent, Place: "journal, unit " + l.Agent.Unit, Times: true, Boots: true}
	case l.Agent.Unit != "":
		return node.NodeLog{Name: agent, Message: "the agent's log goes to the journal, and there is no journalctl, or nothing kept"}
	case l.Agent.File != "":
		return node.NodeLog{Name: agent, Place: l.Agent.File, Times: true}
	}
	return node.NodeLog{Name: agent, Message: l.Agent.Message}
}

func (l Logs) kernelLog(journal bool) node.NodeLog {
	if journal {
		return node.NodeLog{Name: kernel, Place: "journal", Times: true, Boots: true}
	}
	device, err := os.Open(l.Kernel)
	if err != nil {
		return node.NodeLog{Name: kernel, Message: err.Error()}
	}
	device.Close()
	return node.NodeLog{Name: kernel, Place: l.Kernel, Times: true}
}

// Read writes the part of a log that a query selects.
func (l Logs) Read(ctx context.Context, q node.NodeLogQuery, sink node.LogSink) error {
	of, err := l.find(ctx, q.Source)
	if err != nil {
		return err
	}
	if of.Message != "" {
		return fmt.Errorf("log %q: %s: %w", q.Source, of.Message, node.ErrNotReady)
	}
	if q.Boot != nil && *q.Boot != 0 && !of.Boots {
		return fmt.Errorf("boot %d: log %q is kept in %s, which is not the journal and knows no boots: %w", *q.Boot, q.Source, of.Place, node.ErrInvalid)
	}
	if err := sink.Flush(); err != nil { // so that a caller that follows a silent log learns that it is there
		return err
	}
	switch {
	case of.Boots:
		return l.fromJournal(ctx, q, sink)
	case q.Source == kernel:
		lines := pick(q, kernelStamp, sink)
		return copyKernel(ctx, l.Kernel, machineStart(time.Now()), q.Follow, lines, lines.end)
	}
	lines := pick(q, stampOf, sink)
	return copyFile(ctx, of.Place, q.Follow, lines, lines.end)
}

// find returns the log of a name.
func (l Logs) find(ctx context.Context, name string) (node.NodeLog, error) {
	there := l.Journal.there()
	switch {
	case name == agent:
		return l.agentLog(there), nil
	case name == runtime && l.Runtime != "":
		return node.NodeLog{Name: name, Place: l.Runtime}, nil
	case name == kernel:
		return l.kernelLog(there), nil
	case !strings.Contains(name, "."), unsafe.MatchString(name), !there:
		return node.NodeLog{}, fmt.Errorf("log %q: this node has no such log; GET /v1/node/logs lists them: %w", name, node.ErrNotFound)
	}
	units, err := l.Journal.units(ctx)
	if err != nil {
		return node.NodeLog{}, err
	}
	if !slices.Contains(units, name) {
		return node.NodeLog{}, fmt.Errorf("log %q: the journal has no lines of such a unit; GET /v1/node/logs lists them: %w", name, node.ErrNotFound)
	}
	return node.NodeLog{Name: name, Boots: true}, nil
}

// fromJournal reads a log that the journal keeps. journalctl takes the last lines unless a pattern has to choose among
// all of them.
func (l Logs) fromJournal(ctx context.Context, q node.NodeLogQuery, sink node.LogSink) error {
	part := selection{kernel: q.Source == kernel, since: q.Since, until: q.Until, follow: q.Follow}
	switch {
	case part.kernel:
	case q.Source == agent:
		part.units = []string{l.Agent.Unit}
	default:
		part.units = []string{q.Source}
	}
	if q.Boot != nil {
		boot := int(*q.Boot)
		part.boot = &boot
	}
	if q.Tail != nil && q.Pattern == nil {
		tail := int(*q.Tail)
		part.tail, q.Tail = &tail, nil
	}
	lines := pick(q, nil, sink)
	lines.wanted = true
	if err := l.Journal.copy(ctx, part, flushing{lines, sink}); err != nil {
		return err
	}
	return lines.end()
}

// flushing flushes after each write: a line that is followed must not wait for the next one.
type flushing struct {
	lines *picker
	sink  node.LogSink
}

func (f flushing) Write(p []byte) (int, error) {
	if n, err := f.lines.Write(p); err != nil {
		return n, err
	}
	return len(p), f.sink.Flush()
}
