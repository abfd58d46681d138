// Package cri is a container runtime without containers. It serves CRI v1 over real gRPC, keeps
// sandboxes, containers and images in memory, and answers as containerd does.
//
// It simulates all that a kubelet can see of a runtime: states, attempts, timestamps, exit codes,
// reserved names, log files, events, images. It refuses what needs a kernel: checkpoints and the
// streaming Exec, Attach and PortForward answer Unimplemented. The suite in test/conformance checks
// it against the behaviour of a real containerd.
//
//	     client (bufconn or a socket)
//	       |
//	gate    connections; Crash and Recover close and open it
//	       |
//	Faults  per call: fail, delay, hang, lose the reply
//	       |
//	RPCs    sandbox_*.go, container_*.go, image.go
//	       |
//	truth   one mutex over sandboxes, containers, names, images
//	       |
//	Journal what happened and when; Snapshot: the present state
//
// The command of a container describes its behaviour, see program.go:
//
//	["exit", "3", "after", "2s"]   runs two seconds, then exits with code 3
//	["ignore-term"]                runs until SIGKILL
//
// All times come from package time, so a test under testing/synctest with a bufconn listener runs
// on a fake clock. A running container costs no goroutine.
//
// Start reading at Server, then container_start.go.
package cri
