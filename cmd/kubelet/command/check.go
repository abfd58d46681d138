package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"nodal/agent/cgroups"
	"nodal/agent/config"
	"nodal/agent/ownruntime"
	"nodal/agent/state"
	"nodal/host/cgroup"
	"nodal/host/cri"
	"nodal/host/journal"
	hostruntime "nodal/host/runtime"
	"nodal/host/vault"
	"nodal/node/seal"
	"nodal/node/store"
)

const checkUsage = `It looks at this machine as the kubelet with these flags would find it: settings and files, cgroups, limits, devices, the key of
Secrets, the manifests of the directory, and what pods and their network need. It prints a line for each, with what to do about
those that fail, and changes nothing. The exit code is 1 if something is missing. "kubelet --help" lists the flags.
`

// runCheck prints what this machine lacks for running containers, and the settings that are not honoured.
func runCheck(args []string, c Console) int {
	cfg, code := loadFor("check", checkUsage, args, c)
	if cfg == nil {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	settings := append(checkSettings(cfg), checkRunning(ctx, cfg)...)
	settings = append(append(settings, checkCgroups(cfg)...), checkLimits(cfg)...)
	settings = append(settings, checkCDI(cfg.CDI)...)
	settings = append(settings, checkKey(ctx, cfg.Dirs, cfg.Secrets))
	settings = append(settings, checkManifests(cfg)...)
	if cfg.Runtime.Endpoint != "" {
		return report(append(settings, checkEndpoint(ctx, cfg.Runtime)), c.Out)
	}
	log := slog.New(slog.DiscardHandler)
	return report(append(settings, hostruntime.Check(ctx, ownruntime.Config(cfg.Dirs, cfg.Runtime, log))...), c.Out)
}

// checkSettings returns the settings that have no effect here, and the rights that they give to every caller.
func checkSettings(cfg *config.Config) []hostruntime.Finding { return found(config.Warnings(cfg)) }

// checkCgroups returns the settings that this machine's cgroups keep from their effect.
func checkCgroups(cfg *config.Config) []hostruntime.Finding {
	mounts, err := cgroup.FindMounts()
	if err != nil {
		return nil // other findings tell of a machine without cgroups
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return found(cgroups.Unkept(cfg.Cgroups, mounts.Version, strings.TrimSpace(string(release))))
}

func found(warnings []config.Warning) (all []hostruntime.Finding) {
	for _, w := range warnings {
		all = append(all, hostruntime.Finding{Name: w.Setting, Problem: w.Problem, Remedy: w.Remedy})
	}
	return all
}

// checkKey says where the key of Secrets lives, and whether the agent could use it.
func checkKey(ctx context.Context, dirs config.Dirs, source seal.Source) hostruntime.Finding {
	place, err := vault.Check(ctx, state.Sealing(dirs, source), journal.Has(dirs.Journal(), store.SecretRecords))
	name := "key of Secrets: " + source.String()
	if !strings.HasSuffix(name, place) {
		name += " (" + place + ")"
	}
	switch {
	case err == nil:
		return hostruntime.Finding{Name: name, OK: true}
	case errors.Is(err, vault.ErrElsewhere):
		return hostruntime.Finding{Name: name, Problem: err.Error(), Remedy: "GET /v1/node of the agent says how it is"}
	}
	return hostruntime.Finding{
		Name: name, Required: true, Problem: err.Error(), Remedy: "until then Secrets are neither read nor taken; --secrets-key names the place",
	}
}

// endpointWait limits the time in which a runtime has to answer the check.
const endpointWait = 5 * time.Second

// checkEndpoint asks a runtime for its status. It does not check what that runtime needs of the machine.
func checkEndpoint(ctx context.Context, r config.Runtime) hostruntime.Finding {
	found := hostruntime.Finding{
		Name: "runtime", Required: true, Remedy: "start it, or name another with --container-runtime-endpoint",
	}
	conn, err := cri.Dial(cri.Config{
		Endpoint: r.Endpoint, ImageEndpoint: r.ImageEndpoint, RequestTimeout: endpointWait,
	})
	if err == nil {
		defer conn.Close()
		_, err = cri.NewHealth(conn).Status(ctx)
	}
	if found.OK = err == nil; err != nil {
		found.Problem = err.Error()
	}
	return found
}

// report prints a line for each finding, with the remedy of those that fail.
func report(findings []hostruntime.Finding, out io.Writer) (code int) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		switch {
		case f.OK:
			fmt.Fprintf(table, "ok\t%s\n", f.Name)
		case f.Required:
			code = 1
			fmt.Fprintf(table, "FAILED\t%s\t%s; %s\n", f.Name, f.Problem, f.Remedy)
		default:
			fmt.Fprintf(table, "warning\t%s\t%s; %s\n", f.Name, f.Problem, f.Remedy)
		}
	}
	if err := table.Flush(); err != nil {
		return 1
	}
	return code
}
