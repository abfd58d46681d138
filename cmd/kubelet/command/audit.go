package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/timestamppb"

	"nodal/agent/config"
	nodev1 "nodal/api/gen/node/v1"
)

const auditUsage = `Usage:
  kubelet audit [flags]   print the newest entries of the audit log: who did what on this node

Flags:
`

// auditCommand is a client of the node API. It runs beside the agent.
type auditCommand struct {
	Console
	client nodev1.AuditServiceClient
	wanted *nodev1.WatchAuditEntriesRequest
	follow bool
}

// runAudit prints entries of the audit log.
func runAudit(args []string, c Console) int {
	cmd := auditCommand{Console: c, wanted: &nodev1.WatchAuditEntriesRequest{}}
	flags := pflag.NewFlagSet("audit", pflag.ContinueOnError)
	flags.SetOutput(c.Err)
	flags.Usage = func() { fmt.Fprint(c.Err, auditUsage, flags.FlagUsages()) }
	socket := flags.String("socket", config.DefaultSocket, "unix socket `path` of the node API")
	since := flags.Duration("since", 0, "only entries of the last `time`, such as 1h")
	flags.BoolVarP(&cmd.follow, "follow", "f", false, "go on with each new entry")
	flags.StringVar(&cmd.wanted.User, "user", "", "only entries of this `caller`")
	flags.StringVar(&cmd.wanted.Kind, "kind", "", "only entries about objects of this `kind`, such as Pod")
	flags.StringVarP(&cmd.wanted.Namespace, "namespace", "n", "", "only entries about objects of this `namespace`")
	flags.StringVar(&cmd.wanted.Name, "name", "", "only entries about objects of this `name`")
	flags.StringVar(&cmd.wanted.Verb, "verb", "", "only entries of this `verb`: read, secrets, write, exec or admin")
	flags.Int32Var(&cmd.wanted.Limit, "limit", 100, "at most this `number` of kept entries")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return 0
	} else if err != nil {
		return misused(flags, c, err)
	}
	if err := noMore(flags.Args()); err != nil {
		return misused(flags, c, err)
	}
	if *since > 0 {
		cmd.wanted.Since = timestamppb.New(time.Now().Add(-*since))
	}
	return askNode("audit", *socket, c, func(ctx context.Context, conn *nodeConn) error {
		cmd.client = nodev1.NewAuditServiceClient(conn)
		return cmd.print(ctx)
	})
}

// print prints the kept entries and, if it follows, each new one until the user ends it.
func (cmd *auditCommand) print(ctx context.Context) error {
	stream, err := cmd.client.WatchAuditEntries(ctx, cmd.wanted)
	if err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF), err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case message.GetEntry() != nil:
			fmt.Fprintln(cmd.Out, entryLine(message.GetEntry()))
		case !cmd.follow: // the marker behind the kept entries
			return nil
		}
	}
}

// entryLine describes an entry in one line, in columns that tools can cut at two blanks.
func entryLine(e *nodev1.AuditEntry) string {
	columns := []string{localTime(e.GetTime(), "-")}
	if e.GetStage() == nodev1.AuditStage_AUDIT_STAGE_LEFT_OUT {
		columns = append(columns, orDash(e.GetUser()+e.GetFrom()), fmt.Sprintf("%d entries are missing: %s", e.GetLeftOut(), e.GetReason()))
	} else {
		method := strings.TrimPrefix(e.GetMethod(), "/node.v1.")
		columns = append(columns, orDash(e.GetUser()), orDash(e.GetFrom()), e.GetVerb(), method, objectsOf(e), outcomeOf(e))
	}
	for i := range columns {
		columns[i] = harmless(columns[i])
	}
	return strings.Join(columns, "  ")
}

func objectsOf(e *nodev1.AuditEntry) string {
	all := e.GetObjects()
	if e.GetObject() != nil {
		all = append(all, e.GetObject())
	}
	var names []string
	for _, o := range all {
		name := o.GetKind()
		if o.GetName() != "" {
			name += " " + strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
		}
		names = append(names, name)
	}
	if more := e.GetMoreObjects(); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return orDash(strings.Join(names, ", "))
}

func outcomeOf(e *nodev1.AuditEntry) string {
	switch {
	case e.GetStage() == nodev1.AuditStage_AUDIT_STAGE_RECEIVED:
		return "begins"
	case e.GetDecision() == "denied":
		return "denied: " + e.GetOutcome()
	case e.ExitCode != nil:
		return fmt.Sprintf("%s, exit code %d", e.GetOutcome(), e.GetExitCode())
	}
	return e.GetOutcome()
}

// harmless quotes a text that could move the cursor of a terminal: some of it comes from strangers.
func harmless(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
