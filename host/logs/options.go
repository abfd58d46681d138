package logs

import (
	"fmt"

	"nodal/node"
)

// check refuses options that have no meaning.
func check(o *node.LogOptions) error {
	if o.Tail != nil && *o.Tail < 0 {
		return fmt.Errorf("tail of %d lines: %w", *o.Tail, node.ErrInvalid)
	}
	if o.LimitBytes != nil && *o.LimitBytes < 0 {
		return fmt.Errorf("limit of %d bytes: %w", *o.LimitBytes, node.ErrInvalid)
	}
	return nil
}
