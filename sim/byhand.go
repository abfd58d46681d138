package sim

import (
	"slices"

	"nodal/node"
)

// Exit ends the newest container of a name by itself, or makes its start fail.
func (m *Machine) Exit(name string, code int32) {
	switch c := m.named(name); {
	case c == nil:
	case c.state == node.ContainerCreated:
		m.failStart(c, code, "")
	default:
		m.end(c, code, "")
	}
}

// Steal removes the newest container of a name behind the agent's back.
func (m *Machine) Steal(name string) bool {
	c := m.named(name)
	if c != nil {
		m.removeContainer(c.id)
	}
	return c != nil
}

// LoseSandbox ends the newest sandbox and all that runs in it.
func (m *Machine) LoseSandbox() bool {
	if len(m.sandboxes) == 0 {
		return false
	}
	s := m.sandboxes[len(m.sandboxes)-1]
	s.ready = false
	for _, c := range m.inSandbox(s.id) {
		m.end(c, 137, "Error")
	}
	m.changed(s.key)
	return true
}

// StealSandbox removes the newest sandbox and all that runs in it, behind the agent's back.
func (m *Machine) StealSandbox() bool {
	lost := m.LoseSandbox()
	if lost {
		m.forgetSandbox(m.sandboxes[len(m.sandboxes)-1])
	}
	return lost
}

// named returns the newest container of a name.
func (m *Machine) named(name string) *container {
	for _, c := range slices.Backward(m.containers) {
		if c.name == name {
			return c
		}
	}
	return nil
}
