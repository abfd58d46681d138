package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	nodev1 "nodal/api/gen/node/v1"
)

// load sends a tarball to the node and prints the images that it took in.
func (i *imaging) load(ctx context.Context, s *session, words []string) error {
	tarball := s.In
	if path := words[0]; path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		tarball = f
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	call, err := i.client.ImportImages(ctx)
	if err != nil {
		return err
	}
	go func() {
		if err := i.send(call, tarball); err != nil {
			cancel(fmt.Errorf("read the tarball: %w", err))
		}
	}()
	result, err := receive(call, s.Err)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	for _, image := range result.GetImages() {
		fmt.Fprintln(s.Out, cell(fmt.Sprintf("%s %s %s", image.GetReference(), image.GetDigest(), sizeOf(image.GetSize()))))
	}
	return nil
}

// chunk is the number of bytes of the tarball in one message.
const chunk = 256 << 10

// send sends the tarball. It fails only if the tarball cannot be read: a refusal comes with the node's answer.
func (i *imaging) send(call nodev1.ImagesService_ImportImagesClient, tarball io.Reader) error {
	if call.Send(&nodev1.ImportImagesRequest{Name: i.name}) != nil {
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
func receive(call nodev1.ImagesService_ImportImagesClient, told io.Writer) (*nodev1.ImportResult, error) {
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
			fmt.Fprintln(told, cell("importing "+progress.GetReference()))
		case time.Since(last) >= time.Second:
			last = time.Now()
			fmt.Fprintf(told, "%s read\n", sizeOf(progress.GetBytesRead()))
		}
	}
}
