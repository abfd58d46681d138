package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/transport"

	"nodal/fleet"
)

const fleetUsage = `Usage:
  kubelet fleet status [flags] [NODE...]   show the nodes of a fleet that is written in etcd, the worst first

It exits with 0 if all nodes are well, with 1 if etcd does not say, with 3 if a node is missing, silent or failing, and
with 4 if nodes are only busy with what etcd says.

Flags:
`

// The exit codes of fleet status, beside 1 and 2.
const (
	fleetUnwell = 3
	fleetBusy   = 4
)

// fleetCommand is a client of etcd. It may run anywhere.
type fleetCommand struct {
	Console
	config  fleet.Config
	files   transport.TLSConfig
	output  string
	timeout time.Duration
}

// runFleet runs the command that the words after "fleet" name.
func runFleet(args []string, c Console) int {
	cmd := fleetCommand{Console: c}
	flags := pflag.NewFlagSet("fleet", pflag.ContinueOnError)
	flags.SetOutput(c.Err)
	flags.Usage = func() { fmt.Fprint(c.Err, fleetUsage, flags.FlagUsages()) }
	flags.StringSliceVar(&cmd.config.Servers, "etcd-servers", nil, "`URLs` of etcd")
	flags.StringVar(&cmd.config.Members, "etcd-members", "/nodal-members", "`prefix` of the records of all nodes of the fleet, as apisync has it")
	flags.StringVar(&cmd.files.CAFile, "etcd-cafile", "", "`file` of the CA certificates for etcd's certificate")
	flags.StringVar(&cmd.files.CertFile, "etcd-certfile", "", "client certificate `file` for etcd")
	flags.StringVar(&cmd.files.KeyFile, "etcd-keyfile", "", "key `file` of --etcd-certfile")
	flags.StringVarP(&cmd.output, "output", "o", "table", "table or json")
	flags.DurationVar(&cmd.timeout, "timeout", 30*time.Second, "how `long` etcd may take")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return 0
	} else if err != nil {
		return misused(flags, c, err)
	}
	if err := cmd.check(flags.Args()); err != nil {
		return misused(flags, c, err)
	}
	code, err := cmd.status(flags.Args()[1:])
	if err != nil {
		fmt.Fprintln(c.Err, "kubelet fleet:", err)
		return 1
	}
	return code
}

func (cmd *fleetCommand) check(words []string) error {
	switch {
	case len(words) == 0:
		return errors.New("command missing: want status")
	case words[0] != "status":
		return fmt.Errorf("unknown command %q", words[0])
	case len(cmd.config.Servers) == 0:
		return errors.New("--etcd-servers missing: want URLs such as https://10.0.0.1:2379")
	case cmd.output != "table" && cmd.output != "json":
		return fmt.Errorf("--output %q: want table or json", cmd.output)
	}
	return nil
}

// status prints the nodes of a fleet, or those of these names, and returns the exit code.
func (cmd *fleetCommand) status(names []string) (code int, err error) {
	if cmd.config.TLS, err = fleet.TLS(cmd.config.Servers, cmd.files); err != nil {
		return 1, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, cmd.timeout)
	defer cancel()
	all, err := fleet.Ask(ctx, cmd.config)
	if err != nil {
		return 1, fmt.Errorf("%s; check --etcd-servers, the certificates, and the caller's right to read %s",
			strings.TrimSpace(status.Convert(err).Message()), cmd.config.Members)
	}
	if len(all) == 0 && len(names) == 0 {
		return 1, fmt.Errorf("there is no node's record below %s; check --etcd-members, here and of each apisync", cmd.config.Members)
	}
	members := named(all, names)
	if cmd.output == "json" {
		err = cmd.printJSON(members)
	} else {
		err = cmd.printTable(members, time.Now())
	}
	return fleetCode(members), err
}

// named returns the members of these names, or all without names. One that is not in the fleet is missing.
func named(all []fleet.Member, names []string) []fleet.Member {
	if len(names) == 0 {
		return all
	}
	var members []fleet.Member
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if !slices.ContainsFunc(all, func(m fleet.Member) bool { return m.Name == name }) {
			members = append(members, fleet.Member{Name: name, Standing: fleet.Missing})
		}
	}
	return append(members, slices.DeleteFunc(all, func(m fleet.Member) bool { return !slices.Contains(names, m.Name) })...)
}

// fleetCode returns the exit code for the worst of the members.
func fleetCode(members []fleet.Member) int {
	worst := fleet.Well
	for _, m := range members {
		if slices.Index(fleet.Standings, m.Standing) < slices.Index(fleet.Standings, worst) {
			worst = m.Standing
		}
	}
	switch worst {
	case fleet.Well:
		return 0
	case fleet.Busy:
		return fleetBusy
	}
	return fleetUnwell
}

// counts returns how many members there are of each standing.
func counts(members []fleet.Member) map[fleet.Standing]int {
	found := map[fleet.Standing]int{}
	for _, m := range members {
		found[m.Standing]++
	}
	return found
}

func (cmd *fleetCommand) printJSON(members []fleet.Member) error {
	out := json.NewEncoder(cmd.Out)
	out.SetIndent("", "  ")
	return out.Encode(map[string]any{"nodes": members, "counts": counts(members)})
}

// printTable prints a row for each node, and a line with their counts. What nodes have written is not trusted.
func (cmd *fleetCommand) printTable(members []fleet.Member, now time.Time) error {
	table := tabwriter.NewWriter(cmd.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tSTATE\tLAST WORD\tVERSION\tGIVEN\tAPPLIED\tWANTED\tRUNNING\tREADY\tFAILING\tWHAT IS WRONG")
	for _, m := range members {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", harmless(m.Name), m.Standing, ago(m.LastWord, now),
			orDash(harmless(m.Version)), m.Given, m.Applied, m.Wanted, m.Running, m.Ready, m.Failing, orDash(harmless(m.Fault)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	found, total := counts(members), fmt.Sprintf("%d nodes", len(members))
	if len(members) == 1 {
		total = "1 node"
	}
	var parts []string
	for _, s := range fleet.Standings {
		if n := found[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	_, err := fmt.Fprintf(cmd.Out, "%s: %s\n", total, strings.Join(parts, ", "))
	return err
}

// ago returns how long ago a time was, by the largest unit. Clocks of nodes may be ahead of this one.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(now.Sub(t), 0)
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= 2*unit.of {
			return fmt.Sprintf("%d%s", d/unit.of, unit.name)
		}
	}
	return d.Truncate(time.Second).String()
}
