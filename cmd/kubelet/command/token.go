package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"nodal/agent/config"
	nodev1 "nodal/api/gen/node/v1"
)

const tokenUsage = `Usage:
  kubelet token create [flags] NAME   make a token and print its secret, which is shown only once
  kubelet token list [flags]          list the tokens
  kubelet token revoke [flags] NAME   revoke a token and end what it has opened

Flags:
`

// tokenCommand is a client of the node API. It runs beside the agent.
type tokenCommand struct {
	Console
	client     nodev1.TokensServiceClient
	role       string
	namespaces []string
	expires    string
}

// runToken runs the command that the words after "token" name.
func runToken(args []string, c Console) int {
	cmd := tokenCommand{Console: c}
	flags := pflag.NewFlagSet("token", pflag.ContinueOnError)
	flags.SetOutput(c.Err)
	flags.Usage = func() { fmt.Fprint(c.Err, tokenUsage, flags.FlagUsages()) }
	socket := flags.String("socket", config.DefaultSocket, "unix socket `path` of the node API")
	flags.StringVar(&cmd.role, "role", "", "create: viewer, operator or admin")
	flags.StringSliceVar(&cmd.namespaces, "namespace", nil, "create: narrow the role to `namespaces`, such as dev,test (default: the whole node)")
	flags.StringVar(&cmd.expires, "expires", "30d", "create: how `long` the token is valid, such as 24h or 90d; never for one without an end")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return 0
	} else if err != nil {
		return misused(flags, c, err)
	}
	do, err := cmd.choose(flags)
	if err != nil {
		return misused(flags, c, err)
	}
	return askNode("token", *socket, c, func(ctx context.Context, conn *nodeConn) error {
		cmd.client = nodev1.NewTokensServiceClient(conn)
		return do(ctx)
	})
}

// choose returns the command that the words after "token" name.
func (cmd *tokenCommand) choose(flags *pflag.FlagSet) (func(context.Context) error, error) {
	words := flags.Args()
	if len(words) == 0 {
		return nil, errors.New("command missing: want create, list or revoke")
	}
	for _, flag := range []string{"role", "namespace", "expires"} {
		if flags.Changed(flag) && words[0] != "create" {
			return nil, fmt.Errorf("--%s is a flag of create, not of %s", flag, words[0])
		}
	}
	switch words[0] {
	case "list":
		return cmd.list, noMore(words[1:])
	case "create":
		if len(words) != 2 {
			return nil, fmt.Errorf("want one NAME for create, got %d", len(words)-1)
		}
		if cmd.role == "" {
			return nil, errors.New("--role missing: want viewer, operator or admin")
		}
		lifetime, err := lifetimeOf(cmd.expires)
		return func(ctx context.Context) error { return cmd.create(ctx, words[1], lifetime) }, err
	case "revoke":
		if len(words) != 2 {
			return nil, fmt.Errorf("want one NAME for revoke, got %d", len(words)-1)
		}
		return func(ctx context.Context) error { return cmd.revoke(ctx, words[1]) }, nil
	}
	return nil, fmt.Errorf("unknown command %q", words[0])
}

// lifetimeOf reads --expires. Nil means without an end.
func lifetimeOf(text string) (*durationpb.Duration, error) {
	if text == "never" {
		return nil, nil
	}
	lifetime, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		lifetime = time.Duration(n) * 24 * time.Hour
		if n > 100*365 {
			lifetime = 0
		}
	}
	if err != nil || lifetime <= 0 {
		return nil, fmt.Errorf("--expires %q: want a time such as 24h or 90d, or never", text)
	}
	return durationpb.New(lifetime), nil
}

// create prints the secret alone to standard output, so that a script can keep it.
func (cmd *tokenCommand) create(ctx context.Context, name string, lifetime *durationpb.Duration) error {
	made, err := cmd.client.CreateToken(ctx, &nodev1.CreateTokenRequest{
		Name: name, Role: cmd.role, Namespaces: cmd.namespaces, Lifetime: lifetime,
	})
	if err != nil {
		return err
	}
	t := made.GetToken()
	fmt.Fprintf(cmd.Err, "token %q, %s%s, %s; its secret is not shown again:\n", t.GetName(), t.GetRole(), within(t, " of namespace "), ending(t))
	fmt.Fprintln(cmd.Out, made.GetSecret())
	return nil
}

// within names the namespaces of a narrowed role.
func within(t *nodev1.Token, before string) string {
	if len(t.GetNamespaces()) == 0 {
		return ""
	}
	return before + strings.Join(t.GetNamespaces(), ",")
}

func ending(t *nodev1.Token) string {
	if t.GetExpiresAt() == nil {
		return "without an end"
	}
	return "until " + localTime(t.GetExpiresAt(), "")
}

func (cmd *tokenCommand) list(ctx context.Context) error {
	reply, err := cmd.client.ListTokens(ctx, &nodev1.ListTokensRequest{})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cmd.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tROLE\tNAMESPACES\tCREATED\tBY\tEXPIRES\tLAST USED\tID")
	for _, t := range reply.GetTokens() {
		expires := localTime(t.GetExpiresAt(), "never")
		if t.GetExpired() {
			expires += " (expired)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.GetName(), t.GetRole(), cmp.Or(within(t, ""), "all"), localTime(t.GetCreatedAt(), "-"),
			orDash(t.GetCreatedBy()), expires, localTime(t.GetLastUsedAt(), "-"), t.GetId())
	}
	return table.Flush()
}

func (cmd *tokenCommand) revoke(ctx context.Context, name string) error {
	if _, err := cmd.client.RevokeToken(ctx, &nodev1.RevokeTokenRequest{Name: name}); err != nil {
		return err
	}
	fmt.Fprintf(cmd.Out, "revoked %q\n", name)
	return nil
}

func localTime(t *timestamppb.Timestamp, without string) string {
	if t == nil {
		return without
	}
	return t.AsTime().Local().Format(time.DateTime)
}

func orDash(text string) string { return cmp.Or(text, "-") }
