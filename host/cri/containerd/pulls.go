package containerd

import (
	"context"
	"slices"
	"strings"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"nodal/node"
)

// Labels that containerd's pulls put on a blob: the repositories that it came from, by host, and the blobs that it
// refers to.
const (
	labelSource = "containerd.io/distribution.source."
	labelRefers = "containerd.io/gc.ref.content."
)

// Count notes with each pull that has begun how much of its image is there. It leaves out a pull whose manifest has
// not come yet, or cannot be told from another's.
func (c *Client) Count(ctx context.Context, pulls []node.Pull) error {
	// Ask for these first: a blob that is completed in between is then in both lists.
	present, err := c.arriving(ctx)
	if err != nil {
		return err
	}
	blobs, err := c.blobs(ctx)
	if err != nil {
		return err
	}
	for _, b := range blobs {
		present[b.GetDigest()] = b.GetSize()
	}
	for i := range pulls {
		manifests, err := c.manifests(ctx, blobs, pulls[i])
		if err != nil {
			return err
		}
		if len(manifests) == 1 {
			pulls[i].Bytes = count(manifests[0], present)
		}
	}
	return nil
}

// manifests reads those of the pull's repository that containerd has worked on since the pull began. Another pull
// from the same repository adds its own.
func (c *Client) manifests(
	ctx context.Context, blobs []*contentapi.Info, pull node.Pull,
) ([]ocispec.Manifest, error) {
	host, repository := repositoryOf(pull.Ref)
	var found []ocispec.Manifest
	for _, b := range blobs {
		if pull.Began.IsZero() || touched(b).Before(pull.Began) || !refers(b) ||
			!slices.Contains(strings.Split(b.GetLabels()[labelSource+host], ","), repository) {
			continue
		}
		m, err := c.readManifest(ctx, b.GetDigest())
		switch {
		case missing(err): // it was removed since the list
		case err != nil:
			return nil, err
		case len(m.Layers) > 0: // else it is an index
			found = append(found, m)
		}
	}
	return found, nil
}

// refers reports whether a blob names others: a manifest does, and an index of manifests.
func refers(blob *contentapi.Info) bool {
	for label := range blob.GetLabels() {
		if strings.HasPrefix(label, labelRefers) {
			return true
		}
	}
	return false
}

// repositoryOf splits a reference as containerd does for its labels: a name without a registry is Docker's, and
// ports do not count.
func repositoryOf(ref string) (host, repository string) {
	name, _, _ := strings.Cut(ref, "@")
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	host, repository, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		return "docker.io", "library/" + name
	case host != "localhost" && !strings.ContainsAny(host, ".:"):
		return "docker.io", name
	}
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	return strings.Trim(host, "[]"), repository
}

func count(m ocispec.Manifest, present map[string]int64) *node.PullBytes {
	bytes := &node.PullBytes{}
	for _, part := range append(m.Layers, m.Config) {
		bytes.Total += part.Size
		bytes.Present += present[part.Digest.String()]
	}
	return bytes
}
