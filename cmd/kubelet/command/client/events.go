package client

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
)

func eventsVerb() Verb {
	return Verb{
		Name: "events", Words: "[POD]", Short: "show what has happened to pods and on the node",
		Long:    "Events of the node itself are shown with -A.",
		Example: "kubelet events web\nkubelet events -A -w",
		Bind: func(flags *pflag.FlagSet) action {
			g := getting{kind: eventKind()}
			g.scope.bind(flags)
			flags.StringVarP(&g.output, "output", "o", "", "`form`: wide, json, yaml, name or jsonpath=TEMPLATE")
			flags.BoolVarP(&g.watch, "watch", "w", false, "go on with each new event")
			return func(ctx context.Context, s *session, words []string) error {
				if len(words) > 1 || len(words) == 1 && g.all {
					return misuse("want one POD at most, with its namespace by -n")
				}
				show, err := g.printer(s)
				if err != nil {
					return err
				}
				pod := ""
				if len(words) == 1 {
					pod = words[0]
				}
				if g.watch {
					return streamEnd(ctx, s.watchEvents(ctx, g.of(), pod, show.changed))
				}
				items, err := s.listEvents(ctx, g.of(), pod)
				if err == nil && len(items) == 0 && show.isTable() {
					s.note(fmt.Errorf("no events are kept; -A shows those of all namespaces and of the node"))
					return nil
				}
				if err != nil {
					return err
				}
				return show.list(items)
			}
		},
	}
}
