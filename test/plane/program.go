package plane

import (
	"syscall"

	"nodal/test/process"
)

// NewProgram returns a program that ends with the process that runs it.
func NewProgram(path, log string, args ...string) *process.Process {
	return &process.Process{Path: path, Args: args, Log: log, Attr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}}
}
