package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/wire"
)

// Images reads and changes the images on the machine.
type Images interface {
	List(context.Context) ([]node.LocalImage, error)
	// Pulls returns the pulls under way.
	Pulls(context.Context) []node.Pull
	// Pull pulls an image with the credentials of the node.
	Pull(ctx context.Context, image string) (node.LocalImage, error)
	// PrunePlan returns what Prune would remove. Prune returns what it has removed.
	PrunePlan(context.Context) ([]node.ImageRemoval, error)
	Prune(context.Context) ([]node.ImageRemoval, error)
	// Remove removes and returns the image of a name or id, unless it is in use.
	Remove(ctx context.Context, image string) (node.LocalImage, error)
	// Import reads a tarball and makes its images ready for pods.
	Import(ctx context.Context, tarball io.Reader, how node.Import) ([]node.ImportedImage, error)
}

// imageService lists, imports and removes images.
type imageService struct {
	nodev1.UnimplementedImagesServiceServer
	images  Images
	names   imageNames
	idle    time.Duration // bounds the pause between two parts of a tarball
	stopped <-chan struct{}
}

var _ nodev1.ImagesServiceServer = (*imageService)(nil)

// progressInterval keeps two messages about progress apart.
const progressInterval = 200 * time.Millisecond

// ListImages lists the images of the runtime.
func (s *imageService) ListImages(
	ctx context.Context, _ *nodev1.ListImagesRequest,
) (*nodev1.ListImagesResponse, error) {
	images, err := s.images.List(ctx)
	if err != nil {
		return nil, err
	}
	reply := &nodev1.ListImagesResponse{}
	for _, i := range images {
		reply.Images = append(reply.Images, shownImage(i))
	}
	return reply, nil
}

func shownImage(i node.LocalImage) *nodev1.Image {
	return &nodev1.Image{Id: i.ID, References: i.References, Digests: i.Digests, Size: i.Size, Pinned: i.Pinned}
}

// PullImage pulls an image and answers when it is there. ListPulls shows how far it is.
func (s *imageService) PullImage(ctx context.Context, request *nodev1.PullImageRequest) (*nodev1.PullImageResponse, error) {
	if request.GetImage() == "" {
		return nil, fmt.Errorf("pull image: image is required: %w", node.ErrInvalid)
	}
	image, err := s.images.Pull(ctx, request.GetImage())
	if err != nil {
		return nil, fmt.Errorf("pull image %s: %w", request.GetImage(), err)
	}
	return &nodev1.PullImageResponse{Image: shownImage(image)}, nil
}

// ListPulls lists the pulls that pods and callers wait for.
func (s *imageService) ListPulls(ctx context.Context, _ *nodev1.ListPullsRequest) (*nodev1.ListPullsResponse, error) {
	reply := &nodev1.ListPullsResponse{}
	for _, p := range s.images.Pulls(ctx) {
		reply.Pulls = append(reply.Pulls, shownPull(p))
	}
	return reply, nil
}

func shownPull(p node.Pull) *nodev1.Pull {
	shown := &nodev1.Pull{Reference: p.Ref, AskedAt: timestamppb.New(p.Asked)}
	if !p.Began.IsZero() {
		shown.BeganAt = timestamppb.New(p.Began)
	}
	if p.Bytes != nil {
		shown.Bytes = &nodev1.PullBytes{Present: p.Bytes.Present, Total: p.Bytes.Total}
	}
	for _, w := range p.Waiters {
		if w.Pod.Name == "" {
			continue // a caller
		}
		shown.Waiters = append(shown.Waiters, &nodev1.PullWaiter{
			Namespace: w.Pod.Namespace, Name: w.Pod.Name, Uid: string(w.UID), Container: w.Container, Volume: w.Volume,
		})
	}
	return shown
}

// GetPrunePlan returns the images that PruneImages would remove.
func (s *imageService) GetPrunePlan(
	ctx context.Context, _ *nodev1.GetPrunePlanRequest,
) (*nodev1.GetPrunePlanResponse, error) {
	images, err := s.images.PrunePlan(ctx)
	return &nodev1.GetPrunePlanResponse{Images: shownPruned(images)}, err
}

// PruneImages removes the images that nothing uses.
func (s *imageService) PruneImages(
	ctx context.Context, _ *nodev1.PruneImagesRequest,
) (*nodev1.PruneImagesResponse, error) {
	images, err := s.images.Prune(ctx)
	return &nodev1.PruneImagesResponse{Images: shownPruned(images)}, err
}

// RemoveImage removes one image under all of its names.
func (s *imageService) RemoveImage(
	ctx context.Context, request *nodev1.RemoveImageRequest,
) (*nodev1.RemoveImageResponse, error) {
	if request.GetImage() == "" {
		return nil, fmt.Errorf("remove image: image is required: %w", node.ErrInvalid)
	}
	image, err := s.images.Remove(ctx, request.GetImage())
	if err != nil {
		return nil, fmt.Errorf("remove image %s: %w", request.GetImage(), err)
	}
	return &nodev1.RemoveImageResponse{Image: shownImage(image)}, nil
}

func shownPruned(images []node.ImageRemoval) []*nodev1.PrunedImage {
	var shown []*nodev1.PrunedImage
	for _, i := range images {
		shown = append(shown, &nodev1.PrunedImage{Image: shownImage(i.Image), Reason: i.Why})
	}
	return shown
}

// ImportImages passes the client's stream on as one tarball.
func (s *imageService) ImportImages(stream importServerStream) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("import images: there is no tarball: %w", node.ErrInvalid)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	go func() {
		select {
		case <-s.stopped:
			cancel(wire.ErrStopping)
		case <-ctx.Done():
		}
	}()
	in := newImportInput(s.idle, cancel)
	defer in.close()
	stop := context.AfterFunc(ctx, in.close) // unblocks a read of the next chunk
	defer stop()
	go in.pump(stream, first)
	images, err := s.images.Import(ctx, in, node.Import{
		Name: first.GetName(),
		May:  func(reference string) error { return s.names.mayImport(ctx, reference) },
		Tell: sendProgress(stream),
	})
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("import images: %w", cause)
	}
	if err != nil {
		return fmt.Errorf("import images: %w", err)
	}
	return stream.Send(&nodev1.ImportImagesResponse{Output: &nodev1.ImportImagesResponse_Result{Result: importResult(images)}})
}

// sendProgress returns a function that sends progress, at most once an interval. An image
// that is ready is always reported.
func sendProgress(stream importServerStream) func(node.ImportProgress) {
	var last time.Time
	return func(p node.ImportProgress) {
		if p.Reference == "" && time.Since(last) < progressInterval {
			return
		}
		last = time.Now()
		// A client that is gone ends the import by its context.
		_ = stream.Send(&nodev1.ImportImagesResponse{Output: &nodev1.ImportImagesResponse_Progress{
			Progress: &nodev1.ImportProgress{BytesRead: p.Read, Reference: p.Reference},
		}})
	}
}

func importResult(images []node.ImportedImage) *nodev1.ImportResult {
	result := &nodev1.ImportResult{}
	for _, i := range images {
		result.Images = append(result.Images,
			&nodev1.ImportedImage{Reference: i.Reference, Digest: i.Digest, Id: i.ID, Size: i.Size})
	}
	return result
}

type importServerStream = grpc.BidiStreamingServer[nodev1.ImportImagesRequest, nodev1.ImportImagesResponse]

// importInput reads the chunks of a stream as one tarball.
type importInput struct {
	*io.PipeReader
	chunks *io.PipeWriter
	idle   time.Duration
	cancel context.CancelCauseFunc
}

func newImportInput(idle time.Duration, cancel context.CancelCauseFunc) *importInput {
	in := &importInput{idle: idle, cancel: cancel}
	in.PipeReader, in.chunks = io.Pipe()
	return in
}

// pump copies the client's stream until it ends or the tarball is no longer read.
func (in *importInput) pump(stream importServerStream, message *nodev1.ImportImagesRequest) {
	for {
		if _, err := in.chunks.Write(message.GetChunk()); err != nil {
			return
		}
		var err error
		message, err = in.next(stream)
		switch {
		case errors.Is(err, io.EOF):
			in.chunks.Close()
			return
		case err != nil:
			in.cancel(err)
			return
		case message.GetName() != "":
			in.cancel(fmt.Errorf("name: must come in the first message: %w", node.ErrInvalid))
			return
		}
	}
}

// next waits for a chunk, but not for ever: until a silent client is given up, all that it
// has sent stays on the disk.
func (in *importInput) next(stream importServerStream) (*nodev1.ImportImagesRequest, error) {
	late := time.AfterFunc(in.idle, func() {
		in.cancel(fmt.Errorf("no part of the tarball came for %s: %w", in.idle, context.DeadlineExceeded))
	})
	defer late.Stop()
	return stream.Recv()
}

// close unblocks pending reads and writes.
func (in *importInput) close() { in.PipeReader.Close() }
