package web

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// door is a socket that leads to an address of this machine. A file can be reached
// from a network that has nothing but loopback.
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

// pass joins a connection with the address until either end is done.
func pass(inside net.Conn, address string) {
	defer inside.Close()
	outside, err := net.Dial("tcp", address)
	if err != nil {
		return // the node is away
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
