package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path"
	"runtime"
	"strings"

	"k8s.io/klog/v2"

	"nodal/agent/config"
)

// newLog returns the log of the process. It writes to stderr. If it is split, only warnings and errors go there, and the
// rest to stdout.
func newLog(p config.Process, level slog.Leveler, stdout, stderr io.Writer) *slog.Logger {
	var all slog.Handler = lines(p.LogFormat, stderr)
	if p.LogSplit {
		all = split{usual: lines(p.LogFormat, stdout), bad: all}
	}
	return slog.New(byFile{Handler: all, level: level, files: p.Files})
}

// lines writes all that it is given. byFile chooses.
func lines(format string, w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: slog.Level(-1 << 10)}
	if format == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// split writes warnings and errors to one place, and the rest to another.
type split struct{ usual, bad slog.Handler }

func (s split) of(level slog.Level) slog.Handler {
	if level >= slog.LevelWarn {
		return s.bad
	}
	return s.usual
}

func (s split) Enabled(context.Context, slog.Level) bool { return true }

func (s split) Handle(ctx context.Context, r slog.Record) error { return s.of(r.Level).Handle(ctx, r) }

func (s split) WithAttrs(attrs []slog.Attr) slog.Handler {
	return split{s.usual.WithAttrs(attrs), s.bad.WithAttrs(attrs)}
}

func (s split) WithGroup(name string) slog.Handler {
	return split{s.usual.WithGroup(name), s.bad.WithGroup(name)}
}

// byFile lets lines through from a level on, and from another level on if they come from certain files.
type byFile struct {
	slog.Handler
	level slog.Leveler
	files []config.FileLevel
}

func (h byFile) Enabled(_ context.Context, level slog.Level) bool {
	if level >= h.level.Level() {
		return true
	}
	for _, f := range h.files {
		if level >= shownFrom(f.Level) {
			return true // if it comes from that file
		}
	}
	return false
}

func (h byFile) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= h.level.Level() || h.shows(r) {
		return h.Handler.Handle(ctx, r)
	}
	return nil
}

// shows reports whether a line comes from a file of which so much is shown. The first pattern that matches decides.
func (h byFile) shows(r slog.Record) bool {
	frame, _ := runtime.CallersFrames([]uintptr{r.PC}).Next()
	file := strings.TrimSuffix(frame.File, ".go")
	for _, f := range h.files {
		name := file
		if !strings.Contains(f.Pattern, "/") {
			name = path.Base(file)
		}
		if matched, _ := path.Match(f.Pattern, name); matched {
			return r.Level >= shownFrom(f.Level)
		}
	}
	return false
}

func (h byFile) WithAttrs(attrs []slog.Attr) slog.Handler {
	return byFile{h.Handler.WithAttrs(attrs), h.level, h.files}
}

func (h byFile) WithGroup(name string) slog.Handler {
	return byFile{h.Handler.WithGroup(name), h.level, h.files}
}

// debugFrom is the level of Kubernetes' scale from which on debugging is shown.
const debugFrom = 4

// shownFrom returns the least level of lines that a level of Kubernetes' scale shows.
func shownFrom(level int32) slog.Level {
	switch {
	case level < debugFrom:
		return slog.LevelInfo
	default:
		return slog.Level(-level) // client libraries log below debugging
	}
}

// followKlog sends the lines of client libraries to the log, with more of certain files.
func followKlog(log *slog.Logger, files []config.FileLevel) {
	klog.SetSlogLogger(log)
	var patterns []string
	for _, f := range files {
		patterns = append(patterns, fmt.Sprintf("%s=%d", f.Pattern, f.Level))
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Set("vmodule", strings.Join(patterns, ",")); err != nil {
		log.Warn("client libraries log no more of certain files", "err", err)
	}
}
