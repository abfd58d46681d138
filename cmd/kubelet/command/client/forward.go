package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	nodev1 "nodal/api/gen/node/v1"
)

func forwardVerb() Verb {
	return Verb{
		Name: "port-forward", Words: "POD [LOCAL:]PORT...", Short: "reach ports of a pod by ports of this machine",
		Long:    "LOCAL 0 takes any free port, and its number is printed. It ends with Ctrl-C.",
		Example: "kubelet port-forward web 8080\nkubelet port-forward web 9000:8080 --address 0.0.0.0",
		Bind: func(flags *pflag.FlagSet) action {
			var f forwarding
			flags.StringVarP(&f.namespace, "namespace", "n", "default", "`namespace`")
			flags.StringVar(&f.address, "address", "127.0.0.1", "`address` to listen on; any other than loopback lets others in")
			return f.run
		},
	}
}

// forwarding is one call of port-forward.
type forwarding struct{ namespace, address, pod string }

// portPair is a port of this machine and the port of a pod that it leads to.
type portPair struct{ local, remote uint16 }

// portsOf reads ports: 8080 or 9000:8080.
func portsOf(words []string) (all []portPair, err error) {
	for _, word := range words {
		local, remote, both := strings.Cut(word, ":")
		if !both {
			remote = local
		}
		from, err := strconv.ParseUint(local, 10, 16)
		to, other := strconv.ParseUint(remote, 10, 16)
		if err != nil || other != nil || to == 0 {
			return nil, misuse("port %q: want PORT or LOCAL:PORT, such as 9000:8080", word)
		}
		all = append(all, portPair{uint16(from), uint16(to)})
	}
	return all, nil
}

func (f *forwarding) run(ctx context.Context, s *session, words []string) error {
	if len(words) < 2 {
		return misuse("want POD and at least one port")
	}
	pairs, err := portsOf(words[1:])
	if err != nil {
		return err
	}
	if f.pod, err = onePod(words[:1]); err != nil {
		return err
	}
	if _, err := s.existing(ctx, f.namespace, f.pod); err != nil {
		return err
	}
	client, err := clientOf(s, nodev1.NewExecServiceClient)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(pairs))
	for _, pair := range pairs {
		listener, err := net.Listen("tcp", net.JoinHostPort(f.address, strconv.Itoa(int(pair.local))))
		if err != nil {
			return fmt.Errorf("%w; choose another port of this machine with LOCAL:%d", err, pair.remote)
		}
		defer listener.Close()
		fmt.Fprintf(s.Out, "%s leads to port %d of pod %s\n", listener.Addr(), pair.remote, f.pod)
		go func() { ended <- f.accept(ctx, s, client, listener, pair.remote) }()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return err
	}
}

// accept serves the connections of one port.
func (f *forwarding) accept(ctx context.Context, s *session, client nodev1.ExecServiceClient, listener net.Listener, port uint16) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			if err := f.forward(ctx, client, conn, port); err != nil && ctx.Err() == nil {
				s.note(fmt.Errorf("connection to port %d: %s", port, s.explain(err)))
			}
		}()
	}
}

// forward joins a connection with one to a port of the pod. Each side may end before the other.
func (f *forwarding) forward(ctx context.Context, client nodev1.ExecServiceClient, conn net.Conn, port uint16) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.PortForward(ctx)
	if err != nil {
		return err
	}
	start := &nodev1.PortForwardStart{Namespace: f.namespace, Name: f.pod, Port: int32(port)}
	if err := stream.Send(&nodev1.PortForwardRequest{Input: &nodev1.PortForwardRequest_Start{Start: start}}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		buffer := make([]byte, 32<<10)
		for {
			n, err := conn.Read(buffer)
			if n > 0 && stream.Send(&nodev1.PortForwardRequest{Input: &nodev1.PortForwardRequest_Data{Data: buffer[:n]}}) != nil {
				return
			}
			if err != nil {
				_ = stream.CloseSend()
				return
			}
		}
	})
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			if half, ok := conn.(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
			sending.Wait() // the caller may still have something to say
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := conn.Write(m.GetData()); err != nil {
			return nil // the caller has gone
		}
	}
}
