package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/rig"
)

// sharers is the number of pods that need one image.
const sharers = 20

// shared posts pods that need one big image which is not on the machine yet. By raw calls it is
// pulled once, and then the pods run.
func (b *suite) shared(ctx context.Context) error {
	took, sent := samples{}, map[string]float64{}
	err := b.each(func(c *column) error {
		image, layer, err := pushBig(c.rt, b.sizes.imageBytes)
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
		sent[c.name] = max(sent[c.name], float64(c.rt.Sent(layer)))
		return c.clear(ctx, pods...)
	})
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("%d pods sharing an image of %d MB that is not there: posted to all started", sharers, b.sizes.imageBytes/1_000_000),
		"ms", took.p50(), timesRaw(1.15))
	b.add("the same: times that the registry was asked for the image's layer, at most", "", sent, atMost(1, ""))
	return nil
}

// pushBig pushes an image to the registry: that of the other pods, with a layer of so many bytes on
// top.
func pushBig(rt *rig.Runtime, bytes int64) (reference string, layer v1.Hash, err error) {
	base, err := name.ParseReference(rt.Image("probe"), name.Insecure)
	if err != nil {
		return "", layer, fmt.Errorf("name the image to build on: %w", err)
	}
	image, err := remote.Image(base)
	if err != nil {
		return "", layer, fmt.Errorf("read the image to build on: %w", err)
	}
	top, err := random.Layer(bytes, types.DockerLayer)
	if err != nil {
		return "", layer, fmt.Errorf("make a layer of %d bytes: %w", bytes, err)
	}
	if layer, err = top.Digest(); err != nil {
		return "", layer, fmt.Errorf("name a layer of %d bytes: %w", bytes, err)
	}
	if image, err = mutate.AppendLayers(image, top); err != nil {
		return "", layer, fmt.Errorf("build the big image: %w", err)
	}
	reference, err = rt.Push("big:1", image)
	return reference, layer, err
}
