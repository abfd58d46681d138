package client

import (
	"context"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/durationpb"

	nodev1 "nodal/api/gen/node/v1"
)

func timelineVerb() Verb {
	return Verb{
		Name: "timeline", Words: "POD", Short: "show the steps of a pod, with when each came and how long it took",
		Long:    "It shows the last pod of the name, also if that is deleted.",
		Example: "kubelet timeline web",
		Bind: func(flags *pflag.FlagSet) action {
			var namespace string
			flags.StringVarP(&namespace, "namespace", "n", "default", "`namespace`")
			return func(ctx context.Context, s *session, words []string) error {
				name, err := onePod(words)
				if err != nil {
					return err
				}
				client, err := clientOf(s, nodev1.NewEventsServiceClient)
				if err != nil {
					return err
				}
				reply, err := client.GetTimeline(ctx, &nodev1.GetTimelineRequest{Namespace: namespace, Name: name})
				if err != nil {
					g := getting{scope: scope{namespace: namespace}, kind: podKind()}
					return g.missing(err, name)
				}
				return timeline(s, reply.GetSteps())
			}
		},
	}
}

// timeline prints steps.
func timeline(s *session, steps []*nodev1.Step) error {
	t := table{out: s.Out, head: []string{"AFTER", "TOOK", "STEP", "CONTAINER", "MESSAGE"}}
	rows := make([][]string, len(steps))
	for i, step := range steps {
		what := step.GetWhat()
		if step.GetWarning() {
			what += " (!)"
		}
		rows[i] = []string{elapsed(step.GetSinceAccepted()), elapsed(step.GetTook()), what, orNone(step.GetContainer()), step.GetMessage()}
	}
	return t.print(rows...)
}

// elapsed writes a time to the millisecond, or to the second if it is long.
func elapsed(d *durationpb.Duration) string {
	if d == nil {
		return ""
	}
	of := d.AsDuration()
	if of >= time.Minute {
		return of.Round(time.Second).String()
	}
	return of.Round(time.Millisecond).String()
}
