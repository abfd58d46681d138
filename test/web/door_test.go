package web

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// door listens on a socket that leads to an address of this machine. A socket file is reachable
// from a network with nothing but loopback.
func door(t *testing.T, address string) (path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "nodal-door-") // short: a unix address has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "node")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			inside, err := listener.Accept()
			if err != nil {
				return
			}
			go pass(inside, address)
		}
	}()
	return path
}

// pass copies between a connection and the address until either end closes.
func pass(inside net.Conn, address string) {
	defer inside.Close()
	outside, err := net.Dial("tcp", address)
	if err != nil {
		return // the node is down
	}
	defer outside.Close()
	over := make(chan error, 2)
	copyTo := func(to io.Writer, from io.Reader) {
		_, err := io.Copy(to, from)
		over <- err
	}
	go copyTo(outside, inside)
	go copyTo(inside, outside)
	<-over
}
