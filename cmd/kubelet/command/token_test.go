package command

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
)

// tokenNode is the other end of the command.
type tokenNode struct {
	nodev1.UnimplementedTokensServiceServer
	asked   *nodev1.CreateTokenRequest
	revoked string
}

func (n *tokenNode) CreateToken(_ context.Context, r *nodev1.CreateTokenRequest) (*nodev1.CreateTokenResponse, error) {
	if r.GetName() == "taken" {
		return nil, status.Error(codes.FailedPrecondition, `token "taken": there is one already`)
	}
	n.asked = r
	return &nodev1.CreateTokenResponse{Token: &nodev1.Token{Name: r.GetName(), Role: r.GetRole()}, Secret: "nodal_secret"}, nil
}

func (n *tokenNode) ListTokens(context.Context, *nodev1.ListTokensRequest) (*nodev1.ListTokensResponse, error) {
	at := timestamppb.New(time.Date(2026, 5, 1, 12, 0, 0, 0, time.Local))
	return &nodev1.ListTokensResponse{Tokens: []*nodev1.Token{
		{Name: "ci", Id: "0123456789ab", Role: "operator", CreatedAt: at, CreatedBy: "uid:0", ExpiresAt: at, Expired: true},
		{Name: "viewer", Id: "ba9876543210", Role: "viewer", CreatedAt: at, LastUsedAt: at},
	}}, nil
}

func (n *tokenNode) RevokeToken(_ context.Context, r *nodev1.RevokeTokenRequest) (*nodev1.RevokeTokenResponse, error) {
	n.revoked = r.GetName()
	return &nodev1.RevokeTokenResponse{}, nil
}

// listen serves the node at a socket.
func (n *tokenNode) listen(t *testing.T) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "node.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	nodev1.RegisterTokensServiceServer(s, n)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return socket
}

func TestTokenCommands(t *testing.T) {
	for _, c := range []struct {
		name, args string
		code       int
		out, err   string
		lifetime   time.Duration // zero: without an end
	}{
		{"create", "create ci --role operator --expires 24h", 0, "nodal_secret\n", "its secret is not shown again", 24 * time.Hour},
		{"create for days", "create ci --role viewer --expires 90d", 0, "nodal_secret\n", "", 90 * 24 * time.Hour},
		{"create for a month if nothing is said", "create ci --role viewer", 0, "nodal_secret\n", "", 30 * 24 * time.Hour},
		{"create without an end", "create ci --role viewer --expires never", 0, "nodal_secret\n", "without an end", 0},
		{"create for no time", "create ci --role viewer --expires 0h", 2, "", "--expires", 0},
		{"create for less than none", "create ci --role viewer --expires -1d", 2, "", "--expires", 0},
		{"create for longer than a clock counts", "create ci --role viewer --expires 9999999d", 2, "", "--expires", 0},
		{"create without a role", "create ci", 2, "", "--role missing", 0},
		{"create without a name", "create --role viewer", 2, "", "want one NAME", 0},
		{"create a second one", "create taken --role viewer", 1, "", "there is one already", 0},
		{"list", "list", 0, "2026-05-01 12:00:00 (expired)", "", 0},
		{"revoke", "revoke ci", 0, "revoked \"ci\"\n", "", 0},
		{"revoke with a flag of create", "revoke ci --role viewer", 2, "", "--role is a flag of create", 0},
		{"nothing", "", 2, "", "command missing", 0},
		{"something else", "make ci", 2, "", "unknown command", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &tokenNode{}
			var out, errs bytes.Buffer
			args := append(strings.Fields(c.args), "--socket", n.listen(t))
			if got := runToken(args, Console{Out: &out, Err: &errs}); got != c.code {
				t.Errorf("got code %d, want %d: %s", got, c.code, errs.String())
			}
			if !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.err) {
				t.Errorf("got %q and %q, want %q and %q", out.String(), errs.String(), c.out, c.err)
			}
			if c.lifetime != n.asked.GetLifetime().AsDuration() {
				t.Errorf("got a lifetime of %s, want %s", n.asked.GetLifetime().AsDuration(), c.lifetime)
			}
		})
	}
}

func TestATokenCommandSaysThatNoAgentAnswers(t *testing.T) {
	var out, errs bytes.Buffer
	socket := filepath.Join(t.TempDir(), "none.sock")
	code := runToken([]string{"list", "--socket", socket}, Console{Out: &out, Err: &errs})
	if code != 1 || !strings.Contains(errs.String(), "no agent answers at "+socket) {
		t.Errorf("got %d %q, want 1 and the socket that nothing answers at", code, errs.String())
	}
}
