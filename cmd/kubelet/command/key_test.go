package command

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
)

// keyNode is the other end of the command.
type keyNode struct {
	nodev1.UnimplementedNodeServiceServer
	wrong error
}

func (n *keyNode) GetNode(context.Context, *nodev1.GetNodeRequest) (*nodev1.GetNodeResponse, error) {
	return &nodev1.GetNodeResponse{SecretsKey: &nodev1.SecretsKey{
		Source: "file:/media/key", Place: "/media/key", Records: 3, Older: 1, Unreadable: 2, Fault: "key file /media/key is missing\x1b[2J",
	}}, nil
}

func (n *keyNode) RotateSecretsKey(context.Context, *nodev1.RotateSecretsKeyRequest) (*nodev1.RotateSecretsKeyResponse, error) {
	if n.wrong != nil {
		return nil, n.wrong
	}
	return &nodev1.RotateSecretsKeyResponse{SecretsKey: &nodev1.SecretsKey{Source: "beside", KeyId: "4711", Records: 3}}, nil
}

func TestKeyCommands(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "node.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	n := &keyNode{}
	s := grpc.NewServer()
	nodev1.RegisterNodeServiceServer(s, n)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	for _, c := range []struct {
		args     string
		wrong    error
		code     int
		out, err string
	}{
		{"show", nil, 0, "source      file:/media/key\nplace       /media/key\nkey         -\nrecords     3\nolder key   1\nunreadable  2\nfault       \"key file /media/key is missing\\x1b[2J\"\n", ""},
		{"rotate", nil, 0, "key         4711\n", ""},
		{"rotate", status.Error(codes.Unavailable, "the plugin is away"), 1, "", "the plugin is away"},
		{"", nil, 2, "", "want show or rotate"},
		{"make", nil, 2, "", `unknown command "make"`},
		{"rotate now", nil, 2, "", `unexpected argument "now"`},
	} {
		n.wrong = c.wrong
		var out, says bytes.Buffer
		code := runKey(append(strings.Fields(c.args), "--socket", socket), Console{Out: &out, Err: &says})
		if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(says.String(), c.err) {
			t.Errorf("key %s: got code %d, %q, %q; want %d, %q, %q", c.args, code, &out, &says, c.code, c.out, c.err)
		}
	}
}
