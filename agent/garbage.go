package agent

import (
	"context"
	"errors"

	"nodal/node"
)

// listGarbage returns a function that asks several parts of the node for their garbage. One that fails hides no other.
func listGarbage(parts ...func(context.Context) ([]node.Garbage, error)) func(context.Context) ([]node.Garbage, error) {
	return func(ctx context.Context) (all []node.Garbage, err error) {
		var errs []error
		for _, part := range parts {
			found, err := part(ctx)
			all, errs = append(all, found...), append(errs, err)
		}
		return all, errors.Join(errs...)
	}
}
