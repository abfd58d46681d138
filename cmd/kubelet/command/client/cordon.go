package client

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	nodev1 "nodal/api/gen/node/v1"
)

func cordonVerb() Verb {
	return Verb{
		Name: "cordon", Words: "", Short: "have the node take no new pods",
		Long: "Pods that are there go on running, and may be changed and restarted. Files still bring pods. A cordon lasts until " +
			"kubelet uncordon, over restarts of the node.",
		Example: "kubelet cordon --reason 'a new disk at noon'",
		Bind: func(flags *pflag.FlagSet) action {
			reason := flags.String("reason", "", "`text` for those whose pods are refused")
			return func(ctx context.Context, s *session, words []string) error {
				client, err := nodeClient(s, words)
				if err != nil {
					return err
				}
				if _, err := client.Cordon(ctx, &nodev1.CordonRequest{Reason: *reason}); err != nil {
					return err
				}
				fmt.Fprintln(s.Out, "the node takes no new pods")
				return nil
			}
		},
	}
}

func uncordonVerb() Verb {
	return Verb{
		Name: "uncordon", Words: "", Short: "have a cordoned node take pods again", Example: "kubelet uncordon",
		Bind: func(*pflag.FlagSet) action {
			return func(ctx context.Context, s *session, words []string) error {
				client, err := nodeClient(s, words)
				if err != nil {
					return err
				}
				if _, err := client.Uncordon(ctx, &nodev1.UncordonRequest{}); err != nil {
					return err
				}
				fmt.Fprintln(s.Out, "the node takes new pods")
				return nil
			}
		},
	}
}

// nodeClient returns the service of the node for a verb that takes no words: there is one node.
func nodeClient(s *session, words []string) (nodev1.NodeServiceClient, error) {
	if len(words) > 0 {
		return nil, misuse("unexpected %q: it is about the node that --node names", words[0])
	}
	return clientOf(s, nodev1.NewNodeServiceClient)
}
