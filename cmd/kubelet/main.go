// Command kubelet runs pods on this machine and serves the node API.
//
// It reads flags, catches signals and logs. Package agent puts the agent together, and the verbs of the command
// line, such as check and install, are in package command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"nodal/agent"
	"nodal/agent/config"
	"nodal/cmd/kubelet/command"
	"nodal/host/service"
	"nodal/server"
)

// version is stamped by the build.
var version = "dev"

func main() { os.Exit(run(wordsOf(os.Args), os.Stdout, os.Stderr)) }

// wordsOf returns the arguments of the process. Under its second name the program is the command line alone: without a
// verb it shows the help and starts no agent.
func wordsOf(args []string) []string {
	if len(args) == 1 && filepath.Base(args[0]) == service.Alias {
		return []string{"help"}
	}
	return args[1:]
}

func run(args []string, stdout, stderr io.Writer) int {
	if code, found := command.Run(args, command.Console{In: os.Stdin, Out: stdout, Err: stderr}); found {
		return code
	}
	cfg, err := config.Load(args)
	switch {
	case errors.Is(err, config.ErrHelp):
		fmt.Fprint(stdout, config.Usage())
		return 0
	case err != nil:
		if asked, ok := errors.AsType[config.VersionRequest](err); ok {
			fmt.Fprintln(stdout, command.Version(asked, version))
			return 0
		}
		fmt.Fprintln(stderr, "kubelet:", err)
		return 2
	}
	level := &verbosity{}
	level.Set(int32(cfg.Process.Verbosity))
	log := newLog(cfg.Process, &level.of, stdout, stderr)
	slog.SetDefault(log) // for what has no logger of its own
	followKlog(log, cfg.Process.Files)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	err = agent.Run(ctx, agent.Options{
		Config: cfg, Version: version, Log: log, Level: level, Reload: hangups, Out: stdout,
		Hurry: hurry(ctx, cfg.Shutdown.OnSIGTERM),
	})
	if err == nil {
		return 0
	}
	if _, begun := errors.AsType[agent.StartError](err); begun {
		log.Error("cannot start", "err", err)
	} else {
		log.Error("stopped", "err", err)
	}
	return 1
}

// hurry returns a channel that is closed by a signal to end that comes after the first one, if the first one begins a
// shutdown of the machine.
func hurry(ctx context.Context, wanted bool) <-chan struct{} {
	hurry := make(chan struct{})
	if !wanted {
		return hurry
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		<-ctx.Done()
		<-signals // the first one
		<-signals
		close(hurry)
	}()
	return hurry
}

// verbosity sets how much is logged; it may change at any time.
type verbosity struct {
	of    slog.LevelVar
	level atomic.Int32
}

var _ server.Verbosity = (*verbosity)(nil)

func (v *verbosity) Level() int32 { return v.level.Load() }

// Set shows debugging with each level from 4 on.
func (v *verbosity) Set(level int32) {
	v.level.Store(level)
	if level >= 4 {
		v.of.Set(slog.LevelDebug)
	} else {
		v.of.Set(slog.LevelInfo)
	}
}
