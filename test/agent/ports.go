package agent

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// Ports of tests lie below the range from which the kernel takes ports for outgoing connections. A
// killed agent must find its ports free when it returns.
const (
	firstPort = 20000
	blockSize = 3
	blocks    = 1000
)

// ClaimPorts reserves three free ports until the returned listener is closed.
func ClaimPorts() (Ports, net.Listener, error) {
	for block := range blocks {
		// The kernel drops the claim with the process.
		claim, err := net.Listen("unix", fmt.Sprintf("@nodal-ports-%d", block))
		if err != nil {
			continue
		}
		first := firstPort + block*blockSize
		if Free(first) && Free(first+1) && Free(first+2) {
			return Ports{Secure: first, Healthz: first + 1, ReadOnly: first + 2}, claim, nil
		}
		claim.Close()
	}
	return Ports{}, nil, errors.New("claim ports: all are taken")
}

// Free reports whether the port has no listener.
func Free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
