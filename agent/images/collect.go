package images

import (
	"context"
	"time"

	"nodal/node"
	"nodal/reconciler/gc"
)

// Records holds records about images, such as the credentials that an image was pulled with.
type Records interface {
	Removed(id string) error
}

// collector returns the collector of images by the settings.
func (c Config) collector(local gc.LocalImages, records Records) *gc.Collector {
	return &gc.Collector{
		Store: c.State.Store, Images: recorded{local, records}, Events: c.State.Events, Log: c.Log, Clock: time.Now,
		Policy: c.Policy, Collected: func(cause node.RemovalCause) { c.Counts.Collected(string(cause)) },
	}
}

// recorded removes an image together with its records.
type recorded struct {
	gc.LocalImages
	records Records
}

var _ gc.LocalImages = recorded{}

// RemoveImage removes the image first: if it stays, it needs its records.
func (r recorded) RemoveImage(ctx context.Context, id string) error {
	if err := r.LocalImages.RemoveImage(ctx, id); err != nil {
		return err
	}
	return r.records.Removed(id)
}
