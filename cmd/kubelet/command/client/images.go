package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	nodev1 "nodal/api/gen/node/v1"
)

// imaging is one call of images.
type imaging struct {
	client nodev1.ImagesServiceClient
	output string
	name   string // of the single image of a tarball
	dryRun bool   // prune lists the images and removes none
	watch  bool
}

func imagesVerb() Verb {
	return Verb{
		Name: "images", Words: "ls|pull IMAGE...|pulls|import FILE|rm IMAGE...|prune", Short: "list, pull, import and remove images, and show pulls",
		Long: `ls lists the images on the node, and list is the same. pull asks the registry with the credentials of the node, also if the
image is there. pulls lists what pods wait for, with how far it is. import takes a tarball of
docker save or podman save, or one with an OCI layout, plain or compressed by gzip or zstd; - reads standard input. rm
removes unused images by name or id, under all of their names. prune removes all unused images.`,
		Example: `kubelet images ls -o wide
kubelet images pull registry.local/app:1
kubelet images pulls -w
kubelet images import app.tar
kubelet images prune --dry-run`,
		Bind: func(flags *pflag.FlagSet) action {
			var i imaging
			flags.StringVarP(&i.output, "output", "o", "", "ls: `form`: wide, json, yaml, name or jsonpath=TEMPLATE")
			flags.BoolVarP(&i.watch, "watch", "w", false, "pulls: go on until none is left")
			flags.StringVar(&i.name, "name", "", "import: `name` for the single image of the tarball, such as registry/app:1 (default: the name in the tarball)")
			flags.BoolVar(&i.dryRun, "dry-run", false, "prune: list the images that would be removed, and remove nothing")
			return func(ctx context.Context, s *session, words []string) (err error) {
				do, err := i.choose(flags, words)
				if err != nil {
					return err
				}
				if i.client, err = clientOf(s, nodev1.NewImagesServiceClient); err != nil {
					return err
				}
				return do(ctx, s, words[1:])
			}
		},
	}
}

// ownFlags are flags of one command alone. The others refuse them: rm --dry-run must not remove anything.
var ownFlags = map[string]string{"name": "import", "dry-run": "prune", "output": "ls", "watch": "pulls"}

// choose returns the command that the words after "images" name.
func (i *imaging) choose(flags *pflag.FlagSet, words []string) (action, error) {
	if len(words) == 0 {
		return nil, misuse("command missing: want ls, pull, pulls, import, rm or prune")
	}
	command, more := words[0], len(words)-1
	if command == "list" {
		command = "ls"
	}
	for flag, of := range ownFlags {
		if flags.Changed(flag) && command != of {
			return nil, misuse("--%s is a flag of %s, not of %s", flag, of, command)
		}
	}
	do := map[string]action{"ls": i.list, "pull": i.pull, "pulls": i.pulls, "import": i.load, "rm": i.remove, "prune": i.prune}[command]
	switch {
	case do == nil:
		return nil, misuse("unknown command %q: want ls, pull, pulls, import, rm or prune", command)
	case command == "import" && more != 1:
		return nil, misuse("want one FILE for import, got %d", more)
	case (command == "rm" || command == "pull") && more == 0:
		return nil, misuse("want at least one IMAGE for %s", command)
	case (command == "ls" || command == "pulls" || command == "prune") && more > 0:
		return nil, misuse("unexpected argument %q", words[1])
	}
	return do, nil
}

// list shows the images as get images does.
func (i *imaging) list(ctx context.Context, s *session, _ []string) error {
	return (&getting{kind: imageKind(), output: i.output}).run(ctx, s)
}

// pulls shows the pulls that pods wait for.
func (i *imaging) pulls(ctx context.Context, s *session, _ []string) error {
	if i.watch {
		return streamEnd(ctx, i.follow(ctx, s))
	}
	reply, err := i.client.ListPulls(ctx, &nodev1.ListPullsRequest{})
	if err != nil {
		return err
	}
	if len(reply.GetPulls()) == 0 {
		s.note(errors.New("no pod waits for a pull"))
		return nil
	}
	t := table{out: s.Out, head: []string{"REFERENCE", "SINCE", "PRESENT", "PODS"}}
	var rows [][]string
	for _, pull := range reply.GetPulls() {
		since, present := "queued", "unknown"
		if began := pull.GetBeganAt(); began != nil {
			since = began.AsTime().Local().Format(time.DateTime)
		}
		if bytes := pull.GetBytes(); bytes != nil {
			present = sizeOf(bytes.GetPresent()) + " of " + sizeOf(bytes.GetTotal())
		}
		rows = append(rows, []string{pull.GetReference(), since, present, strings.Join(podsOf(pull), " ")})
	}
	return t.print(rows...)
}

// podsOf names the pods that wait for a pull.
func podsOf(pull *nodev1.Pull) (pods []string) {
	for _, w := range pull.GetWaiters() {
		if pod := w.GetNamespace() + "/" + w.GetName(); !slices.Contains(pods, pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// prune removes unused images, or says which it would remove.
func (i *imaging) prune(ctx context.Context, s *session, _ []string) error {
	var images []*nodev1.PrunedImage
	if i.dryRun {
		reply, err := i.client.GetPrunePlan(ctx, &nodev1.GetPrunePlanRequest{})
		if err != nil {
			return err
		}
		images = reply.GetImages()
	} else {
		reply, err := i.client.PruneImages(ctx, &nodev1.PruneImagesRequest{})
		if err != nil {
			return err
		}
		images = reply.GetImages()
	}
	var sum int64
	for _, p := range images {
		image := p.GetImage()
		sum += image.GetSize()
		names := strings.Join(image.GetReferences(), " ")
		fmt.Fprintln(s.Out, cell(fmt.Sprintf("%s %s %s: %s", image.GetId(), names, sizeOf(image.GetSize()), p.GetReason())))
	}
	_, err := fmt.Fprintf(s.Out, "%d images, %s\n", len(images), sizeOf(sum))
	return err
}

// remove removes images. It goes on after a failure.
func (i *imaging) remove(ctx context.Context, s *session, names []string) error {
	var failed error
	for _, name := range names {
		reply, err := i.client.RemoveImage(ctx, &nodev1.RemoveImageRequest{Image: name})
		if err != nil {
			if failed != nil {
				s.note(failed)
			}
			failed = err
			continue
		}
		image := reply.GetImage()
		fmt.Fprintln(s.Out, cell("removed "+strings.Join(append(image.GetReferences(), image.GetId()), " ")))
	}
	return failed
}

// sizeOf writes a number of bytes.
func sizeOf(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
