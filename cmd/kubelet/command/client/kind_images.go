package client

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
)

// imageKind is the images on the node. An image has one row, under its first name.
func imageKind() kind {
	return kind{
		name: "images", aliases: []string{"image"}, unlabelled: true, heads: []string{"ID", "SIZE", "OTHER NAMES"}, wide: []string{"PINNED", "DIGESTS"},
		list: func(ctx context.Context, s *session, _ question) ([]item, error) { return s.images(ctx) },
		get: func(ctx context.Context, s *session, _ question, name string) (item, error) {
			all, err := s.images(ctx)
			if err != nil {
				return item{}, err
			}
			return imageNamed(all, name)
		},
		watch: func(context.Context, *session, question, func(string, item) error) error {
			return misuse("images have no watch; kubelet images pulls -w follows pulls")
		},
	}
}

func (s *session) images(ctx context.Context) (items []item, err error) {
	client, err := clientOf(s, nodev1.NewImagesServiceClient)
	if err != nil {
		return nil, err
	}
	reply, err := client.ListImages(ctx, &nodev1.ListImagesRequest{})
	for _, image := range reply.GetImages() {
		items = append(items, imageItem(image))
	}
	return items, err
}

func imageItem(image *nodev1.Image) item {
	names := slices.Concat(image.GetReferences(), image.GetDigests())
	name, also := "<none>", ""
	if len(names) > 0 {
		name = names[0]
	}
	if refs := image.GetReferences(); len(refs) > 1 {
		also = strings.Join(refs[1:], ",")
	}
	pinned := "no"
	if image.GetPinned() {
		pinned = "yes"
	}
	return item{
		kind: "image", name: name, object: asMap(image),
		cells: []string{shortID(image.GetId()), sizeOf(image.GetSize()), also}, wide: []string{pinned, orNone(strings.Join(image.GetDigests(), ","))},
	}
}

// shortID returns as much of an id as tells images apart.
func shortID(id string) string {
	hash := strings.TrimPrefix(id, "sha256:")
	return hash[:min(len(hash), 12)]
}

// imageNamed finds an image by any of its names or its id, or by the beginning of the id.
func imageNamed(all []item, name string) (item, error) {
	hash := strings.TrimPrefix(name, "sha256:")
	var found []item
	for _, i := range all {
		id, _ := i.object["id"].(string)
		switch {
		case slices.Contains(textsOf(i.object["references"]), name), slices.Contains(textsOf(i.object["digests"]), name), id == name:
			return i, nil
		case len(hash) >= 6 && strings.HasPrefix(strings.TrimPrefix(id, "sha256:"), hash):
			found = append(found, i)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return item{}, status.Errorf(codes.NotFound, "image %q: not found on the node", name)
}

// textsOf returns the texts of a list in JSON.
func textsOf(list any) (texts []string) {
	all, _ := list.([]any)
	for _, one := range all {
		if text, ok := one.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}
