package node

import "io"

// RuntimeStatus is the state of the container runtime and its abilities.
type RuntimeStatus struct {
	Name         string // "containerd"
	Version      string
	Ready        bool   // to run containers
	NetworkReady bool   // to give pods a network
	Message      string // why it is not ready
	Events       bool   // its events arrive, so that changes need no polling
	Features     RuntimeFeatures
	Handlers     []RuntimeHandler // older runtimes name none
}

// RuntimeFeatures are abilities that runtimes announce. A runtime may silently ignore requests for an ability
// that it does not announce.
type RuntimeFeatures struct {
	UserNamespaces           bool
	RecursiveReadOnlyMounts  bool
	SupplementalGroupsPolicy bool // pods may choose which of the image's groups their users are in
}

// RuntimeHandler is one of the ways in which the runtime runs pods. The default handler has no name.
type RuntimeHandler struct {
	Name                    string
	UserNamespaces          bool
	RecursiveReadOnlyMounts bool
}

// Streams connect a client with a command or a container. A nil stream is not connected.
type Streams struct {
	Stdin  io.Reader
	Stdout io.Writer // with a terminal, all output comes here
	Stderr io.Writer
	TTY    bool
	Resize <-chan TerminalSize // of the terminal, until it is closed or the command ends; nil without a terminal
}

// TerminalSize is in characters.
type TerminalSize struct{ Width, Height uint16 }
