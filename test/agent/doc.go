// Package agent runs the kubelet's real binary as a child process, for tests from outside and for
// the example node.
//
//	a := agent.New(agent.Config{Binary: path, Dir: dir, Endpoint: rt.Endpoint, ...})
//	err := a.Start()  // returns once the node API answers
//	a.Kill()          // as a crash would
//	err = a.Start()   // the same directories and ports
//	err = a.Stop()    // SIGTERM, and wait
//
// All files of an agent lie below Config.Dir, so agents run side by side. Pods outlive their agent;
// the owner of the runtime removes them.
//
// Start reading at process.go.
package agent
