package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"nodal/agent/config"
	nodev1 "nodal/api/gen/node/v1"
)

const keyUsage = `Usage:
  kubelet key show [flags]     print where the key that seals Secrets lives, and how it is
  kubelet key rotate [flags]   make a new key, seal all Secrets with it, and remove the old one

Flags:
`

// runKey runs the command that the words after "key" name. It is a client of the node API.
func runKey(args []string, c Console) int {
	flags := pflag.NewFlagSet("key", pflag.ContinueOnError)
	flags.SetOutput(c.Err)
	flags.Usage = func() { fmt.Fprint(c.Err, keyUsage, flags.FlagUsages()) }
	socket := flags.String("socket", config.DefaultSocket, "unix socket `path` of the node API")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return 0
	} else if err != nil {
		return misused(flags, c, err)
	}
	do, err := chooseKey(flags.Args())
	if err != nil {
		return misused(flags, c, err)
	}
	return askNode("key", *socket, c, func(ctx context.Context, conn *nodeConn) error {
		key, err := do(ctx, nodev1.NewNodeServiceClient(conn))
		if err == nil {
			printKey(c, key)
		}
		return err
	})
}

type keyCommand func(context.Context, nodev1.NodeServiceClient) (*nodev1.SecretsKey, error)

func chooseKey(words []string) (keyCommand, error) {
	if len(words) == 0 {
		return nil, errors.New("command missing: want show or rotate")
	}
	switch words[0] {
	case "show":
		return showKey, noMore(words[1:])
	case "rotate":
		return rotateKey, noMore(words[1:])
	}
	return nil, fmt.Errorf("unknown command %q", words[0])
}

func showKey(ctx context.Context, client nodev1.NodeServiceClient) (*nodev1.SecretsKey, error) {
	answer, err := client.GetNode(ctx, &nodev1.GetNodeRequest{})
	return answer.GetSecretsKey(), err
}

func rotateKey(ctx context.Context, client nodev1.NodeServiceClient) (*nodev1.SecretsKey, error) {
	answer, err := client.RotateSecretsKey(ctx, &nodev1.RotateSecretsKeyRequest{})
	return answer.GetSecretsKey(), err
}

func printKey(c Console, k *nodev1.SecretsKey) {
	fmt.Fprintf(c.Out, "source      %s\nplace       %s\nkey         %s\nrecords     %d\nolder key   %d\nunreadable  %d\n",
		k.GetSource(), k.GetPlace(), orDash(k.GetKeyId()), k.GetRecords(), k.GetOlder(), k.GetUnreadable())
	if k.GetFault() != "" {
		fmt.Fprintf(c.Out, "fault       %s\n", harmless(k.GetFault()))
	}
}
