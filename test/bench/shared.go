package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/rig"
)

// sharers are how many pods need one image.
const sharers = 20

// shared posts pods that need one big image which is not there yet. By raw calls it is
// pulled once, and then they run.
func (b *suite) shared(ctx context.Context) error {
	took := samples{}
	err := b.each(func(c *column) error {
		image, err := pushBig(c.rt, b.sizes.imageBytes)
		if err != nil {
			return err
		}
		pods := b.newPods(c, sharers)
		for i := range pods {
			pods[i].image = image
		}
		began := time.Now()
		if _, byHand := c.kubelet.(*raw); byHand {
			spec := &runtimev1.ImageSpec{Image: image}
			if _, err := c.rt.Images().PullImage(ctx, &runtimev1.PullImageRequest{Image: spec}); err != nil {
				return fmt.Errorf("pull %s: %w", image, err)
			}
		}
		pulled := time.Since(began)
		elapsed, err := c.run(ctx, pods...)
		if err != nil {
			return err
		}
		took.add(c.name, pulled+elapsed)
		return c.clear(ctx, pods...)
	})
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("%d pods sharing an image of %d MB that is not there: posted to all started", sharers, b.sizes.imageBytes/1_000_000),
		"ms", took.p50(), timesRaw(1.15))
	return nil
}

// pushBig puts the image of the other pods, with so many bytes on top, into the registry.
func pushBig(rt *rig.Runtime, bytes int64) (string, error) {
	base, err := name.ParseReference(rt.Image("probe"), name.Insecure)
	if err != nil {
		return "", fmt.Errorf("name the image to build on: %w", err)
	}
	image, err := remote.Image(base)
	if err != nil {
		return "", fmt.Errorf("read the image to build on: %w", err)
	}
	layer, err := random.Layer(bytes, types.DockerLayer)
	if err != nil {
		return "", fmt.Errorf("make a layer of %d bytes: %w", bytes, err)
	}
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return "", fmt.Errorf("build the big image: %w", err)
	}
	return rt.Push("big:1", image)
}
