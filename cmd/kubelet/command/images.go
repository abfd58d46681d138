package command

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"nodal/agent/config"
	nodev1 "nodal/api/gen/node/v1"
)

const imagesUsage = `Usage:
  kubelet images list [flags]          list the images on the node
  kubelet images pulls [flags]         list pulls in progress and the pods that wait for them
  kubelet images import [flags] FILE   import the images of a tarball; - reads standard input
  kubelet images prune [flags]         remove unused images
  kubelet images rm [flags] IMAGE...   remove unused images by name or id, with all their names

The tarball comes from docker save or podman save, or holds an OCI layout;
it may be compressed by gzip or zstd.

Flags:
`

// imagesCommand is a client of the node API. It runs beside the agent.
type imagesCommand struct {
	Console
	client nodev1.ImagesServiceClient
	name   string // of the single image of a tarball
	dryRun bool   // prune lists the images and removes none
}

// runImages runs the command that the words after "images" name.
func runImages(args []string, c Console) int {
	cmd := imagesCommand{Console: c}
	flags := pflag.NewFlagSet("images", pflag.ContinueOnError)
	flags.SetOutput(c.Err)
	flags.Usage = func() { fmt.Fprint(c.Err, imagesUsage, flags.FlagUsages()) }
	socket := flags.String("socket", config.DefaultSocket, "unix socket `path` of the node API")
	flags.StringVar(&cmd.name, "name", "",
		"import: `name` for the single image of the tarball, such as registry/app:1 (default: the name in the tarball)")
	flags.BoolVar(&cmd.dryRun, "dry-run", false, "prune: list the images that would be removed, and remove nothing")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return 0
	} else if err != nil {
		return misused(flags, c, err)
	}
	do, err := cmd.choose(flags)
	if err != nil {
		return misused(flags, c, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	conn, err := grpc.NewClient("unix:"+*socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err == nil {
		defer conn.Close()
		cmd.client = nodev1.NewImagesServiceClient(conn)
		err = do(&cmd, ctx)
	}
	if err != nil {
		fmt.Fprintln(c.Err, "kubelet images:", status.Convert(err).Message())
		return 1
	}
	return 0
}

// ownFlags are flags of one command alone. The others refuse them: rm --dry-run must not remove anything.
var ownFlags = map[string]string{"name": "import", "dry-run": "prune"}

// choose returns the command that the words after "images" name.
func (imagesCommand) choose(flags *pflag.FlagSet) (func(*imagesCommand, context.Context) error, error) {
	words := flags.Args()
	if len(words) == 0 {
		return nil, errors.New("command missing: want list, pulls, import, prune or rm")
	}
	for flag, of := range ownFlags {
		if flags.Changed(flag) && words[0] != of {
			return nil, fmt.Errorf("--%s is a flag of %s, not of %s", flag, of, words[0])
		}
	}
	switch words[0] {
	case "list":
		return (*imagesCommand).list, noMore(words[1:])
	case "pulls":
		return (*imagesCommand).pulls, noMore(words[1:])
	case "prune":
		return (*imagesCommand).prune, noMore(words[1:])
	case "import":
		if len(words) != 2 {
			return nil, fmt.Errorf("want one FILE for import, got %d", len(words)-1)
		}
		return func(cmd *imagesCommand, ctx context.Context) error { return cmd.importFile(ctx, words[1]) }, nil
	case "rm":
		if len(words) == 1 {
			return nil, errors.New("want at least one IMAGE for rm")
		}
		return func(cmd *imagesCommand, ctx context.Context) error { return cmd.remove(ctx, words[1:]) }, nil
	}
	return nil, fmt.Errorf("unknown command %q", words[0])
}

func (cmd *imagesCommand) list(ctx context.Context) error {
	reply, err := cmd.client.ListImages(ctx, &nodev1.ListImagesRequest{})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cmd.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REFERENCE\tID\tSIZE")
	for _, image := range reply.GetImages() {
		names := image.GetReferences()
		if len(names) == 0 {
			names = image.GetDigests()
		}
		for _, name := range names {
			fmt.Fprintf(table, "%s\t%s\t%s\n", name, image.GetId(), mebibytes(image.GetSize()))
		}
	}
	return table.Flush()
}

func (cmd *imagesCommand) pulls(ctx context.Context) error {
	reply, err := cmd.client.ListPulls(ctx, &nodev1.ListPullsRequest{})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cmd.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REFERENCE\tSINCE\tPRESENT\tPODS")
	for _, pull := range reply.GetPulls() {
		since, present := "queued", "unknown"
		if began := pull.GetBeganAt(); began != nil {
			since = began.AsTime().Local().Format(time.DateTime)
		}
		if bytes := pull.GetBytes(); bytes != nil {
			present = mebibytes(bytes.GetPresent()) + " of " + mebibytes(bytes.GetTotal())
		}
		var pods []string
		for _, w := range pull.GetWaiters() {
			if pod := w.GetNamespace() + "/" + w.GetName(); !slices.Contains(pods, pod) {
				pods = append(pods, pod)
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", pull.GetReference(), since, present, strings.Join(pods, " "))
	}
	return table.Flush()
}

func (cmd *imagesCommand) prune(ctx context.Context) error {
	var images []*nodev1.PrunedImage
	if cmd.dryRun {
		reply, err := cmd.client.GetPrunePlan(ctx, &nodev1.GetPrunePlanRequest{})
		if err != nil {
			return err
		}
		images = reply.GetImages()
	} else {
		reply, err := cmd.client.PruneImages(ctx, &nodev1.PruneImagesRequest{})
		if err != nil {
			return err
		}
		images = reply.GetImages()
	}
	var sum int64
	for _, i := range images {
		image := i.GetImage()
		sum += image.GetSize()
		names := strings.Join(image.GetReferences(), " ")
		fmt.Fprintf(cmd.Out, "%s %s %s: %s\n", image.GetId(), names, mebibytes(image.GetSize()), i.GetReason())
	}
	fmt.Fprintf(cmd.Out, "%d images, %s\n", len(images), mebibytes(sum))
	return nil
}

// remove removes images. It goes on after a failure.
func (cmd *imagesCommand) remove(ctx context.Context, names []string) error {
	var errs []error
	for _, name := range names {
		reply, err := cmd.client.RemoveImage(ctx, &nodev1.RemoveImageRequest{Image: name})
		if err != nil {
			errs = append(errs, errors.New(status.Convert(err).Message()))
			continue
		}
		image := reply.GetImage()
		fmt.Fprintf(cmd.Out, "removed %s\n", strings.Join(append(image.GetReferences(), image.GetId()), " "))
	}
	return errors.Join(errs...)
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
