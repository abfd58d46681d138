package cri

import (
	"context"
	"slices"
	"strings"

	"nodal/node"
)

// Labels that containerd's pulls put on a blob: the repositories that it came
// from, by host, and what it leads to.
const (
	labelSource = "containerd.io/distribution.source."
	labelLeads  = "containerd.io/gc.ref.content."
)

// CountPulled looks into containerd's content store, since CRI says nothing of a pull
// before it is over. It notes with each pull that has begun how much of its image is there.
// With one whose manifest has not come, or cannot be told from another's, it notes
// nothing. It wraps node.ErrUnsupported when the runtime is not containerd.
func (r *Runtime) CountPulled(ctx context.Context, pulls []node.Pull) error {
	if !slices.ContainsFunc(pulls, func(p node.Pull) bool { return !p.Began.IsZero() }) {
		return nil
	}
	ctx, cancel := r.request(ctx)
	defer cancel()
	if err := r.countPulled(ctx, pulls); err != nil {
		return explain(err, "ask how far pulls have come")
	}
	return nil
}

func (r *Runtime) countPulled(ctx context.Context, pulls []node.Pull) error {
	// Before the blobs that are there: one that arrives in between is in both lists.
	present, err := r.arriving(ctx)
	if err != nil {
		return err
	}
	blobs, err := r.blobs(ctx)
	if err != nil {
		return err
	}
	for _, b := range blobs {
		present[b.digest] = b.size
	}
	for i := range pulls {
		pull := &pulls[i]
		manifests, err := r.manifests(ctx, blobs, *pull)
		if err != nil {
			return err
		}
		if len(manifests) == 1 {
			pull.Bytes = manifests[0].count(present)
		}
	}
	return nil
}

// manifests are those of an image of the pull's repository that containerd has
// worked on since the pull began: its own, and with bad luck another's.
func (r *Runtime) manifests(ctx context.Context, blobs []blob, pull node.Pull) ([]manifest, error) {
	host, repository := repositoryOf(pull.Ref)
	var found []manifest
	for _, b := range blobs {
		if pull.Began.IsZero() || b.touched.Before(pull.Began) || !b.leads() ||
			!slices.Contains(strings.Split(b.labels[labelSource+host], ","), repository) {
			continue
		}
		m, err := r.readManifest(ctx, b.digest)
		switch {
		case missing(err): // by now
		case err != nil:
			return nil, err
		case len(m.Layers) > 0: // else it is an index
			found = append(found, m)
		}
	}
	return found, nil
}

// leads says whether a blob names others: a manifest, or an index of them.
func (b blob) leads() bool {
	for label := range b.labels {
		if strings.HasPrefix(label, labelLeads) {
			return true
		}
	}
	return false
}

// repositoryOf splits a reference as containerd does for its labels: what has no
// registry is Docker's, and ports do not count.
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

func (m manifest) count(present map[string]int64) *node.PullBytes {
	bytes := &node.PullBytes{}
	for _, p := range append(m.Layers, m.Config) {
		bytes.Total += p.Size
		bytes.Present += present[p.Digest]
	}
	return bytes
}
