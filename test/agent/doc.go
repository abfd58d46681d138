// Package agent runs the kubelet's real binary as a child process, for tests
// from outside and for the example node.
//
//	a := agent.New(agent.Config{Binary: path, Dir: dir, Endpoint: rt.Endpoint, ...})
//	err := a.Start()  // returns once the node API answers
//	a.Kill()          // as a crash would
//	err = a.Start()   // the same directories and ports
//	err = a.Stop()    // SIGTERM, and wait
//
// Everything that an agent writes lies below Config.Dir, so agents live side by
// side. Pods are the runtime's: an agent that ends leaves them running, and who
// made the runtime takes them away.
//
// Start reading at process.go.
package agent
