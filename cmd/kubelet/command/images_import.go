package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	nodev1 "nodal/api/gen/node/v1"
)

// importFile sends a tarball to the node and prints the images that it took in.
func (cmd *imagesCommand) importFile(ctx context.Context, path string) error {
	tarball := cmd.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		tarball = f
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	call, err := cmd.client.ImportImages(ctx)
	if err != nil {
		return err
	}
	go func() {
		if err := cmd.send(call, tarball); err != nil {
			cancel(fmt.Errorf("read the tarball: %w", err))
		}
	}()
	result, err := cmd.receive(call)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	for _, image := range result.GetImages() {
		fmt.Fprintf(cmd.Out, "%s %s %s\n", image.GetReference(), image.GetDigest(), mebibytes(image.GetSize()))
	}
	return nil
}

// chunk is the number of bytes of the tarball in one message.
const chunk = 256 << 10

// send sends the tarball. It fails only if the tarball cannot be read: a refusal comes with the node's answer.
func (cmd *imagesCommand) send(call nodev1.ImagesService_ImportImagesClient, tarball io.Reader) error {
	if call.Send(&nodev1.ImportImagesRequest{Name: cmd.name}) != nil {
		return nil
	}
	buffer := make([]byte, chunk)
	for {
		n, err := tarball.Read(buffer)
		if n > 0 && call.Send(&nodev1.ImportImagesRequest{Chunk: buffer[:n]}) != nil {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return call.CloseSend()
		}
		if err != nil {
			return err
		}
	}
}

// receive prints the progress, at most once a second, and returns the result.
func (cmd *imagesCommand) receive(call nodev1.ImagesService_ImportImagesClient) (*nodev1.ImportResult, error) {
	var last time.Time
	for {
		message, err := call.Recv()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the node ended the import without a result; try again")
		}
		if err != nil {
			return nil, err
		}
		if result := message.GetResult(); result != nil {
			return result, nil
		}
		progress := message.GetProgress()
		switch {
		case progress.GetReference() != "":
			fmt.Fprintf(cmd.Err, "importing %s\n", progress.GetReference())
		case time.Since(last) >= time.Second:
			last = time.Now()
			fmt.Fprintf(cmd.Err, "%s read\n", mebibytes(progress.GetBytesRead()))
		}
	}
}
