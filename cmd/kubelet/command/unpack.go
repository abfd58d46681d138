package command

import (
	"errors"
	"fmt"

	"nodal/agent/ownruntime"
)

// runUnpack unpacks the agent's container runtime, in a process of its own that ends with the memory it took.
func runUnpack(args []string, c Console) int {
	err := errors.New("want one argument, the root directory")
	if len(args) == 1 {
		err = ownruntime.Unpack(args[0])
	}
	if err != nil {
		fmt.Fprintln(c.Err, "unpack the container runtime:", err)
		return 1
	}
	return 0
}
