// Package pace fits the limits of tests to the machine. A limit says what would
// be a failure, not what is usual; on a machine that is emulated in software
// what is usual takes many times as long, and only there are limits wider.
package pace

import (
	"os"
	"strconv"
	"time"
)

// Env says how many times slower than usual the machine is.
const Env = "NODAL_PACE"

// Of is a limit as this machine needs it.
func Of(limit time.Duration) time.Duration {
	slower, err := strconv.Atoi(os.Getenv(Env))
	if err != nil || slower < 1 {
		return limit
	}
	return limit * time.Duration(slower)
}
