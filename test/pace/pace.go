// Package pace adapts the time limits of tests to the machine. A limit is far above the usual time,
// and exceeding it is a failure. Limits widen for a run of all tests, whose builds keep the disk busy,
// and on a machine that is emulated in software, where everything takes many times as long.
package pace

import (
	"os"
	"strconv"
	"time"
)

// Env names the variable that says how many times slower than usual the machine is.
const Env = "NODAL_PACE"

// Of returns a limit for this machine.
func Of(limit time.Duration) time.Duration {
	slower, err := strconv.Atoi(os.Getenv(Env))
	if err != nil || slower < 1 {
		return limit
	}
	return limit * time.Duration(slower)
}
