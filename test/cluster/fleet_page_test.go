package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	grpcstatus "google.golang.org/grpc/status"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/pace"
	"nodal/test/rig"
)

func TestTheFleetOfThePageIsSecure(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a fleet",
		"a fleet that is made with the commands of docs/FLEET.md has a certificate for each client, and runs pods",
		"by the rights of that page a node reads its own manifests, and writes its own statuses and record; it can read and write nothing of another node",
	)
	f := newPage(t)
	f.shell(f.block("certificates"))
	f.etcd = start(t, filepath.Join(f.parts, "etcd"), append(f.words("etcd")[1:], "--log-level", "warn", "--unsafe-no-fsync")...)
	f.etcdctl(f.block("rights"))
	must(t, os.WriteFile(filepath.Join(f.dir, "web.yaml"), []byte(manifest("web", sleeper)), 0o600))
	f.sync = start(t, apisync, f.words("apisync")[1:]...)
	f.etcdctl(f.block("pods"))
	f.eventually("node-a well, with its pod", func() bool {
		out, err := f.run(f.block("status"))
		return err == nil && strings.Contains(out, "node-a  well") && strings.Contains(out, "1 node: 1 well")
	})
	f.etcdctl("etcdctl --cert owner.crt --key owner.key put /nodal/node-b/pods/secret < web.yaml")

	a, reader := f.kv("node-a"), f.kv("reader")
	for _, c := range []struct {
		who  etcdserverpb.KVClient
		verb string
		key  string
		may  bool
	}{
		{a, "read", "/nodal/node-a/pods/web", true},
		{a, "write", "/nodal/node-a/pods/web", false},
		{a, "read", "/nodal/node-b/pods/secret", false},
		{a, "write", "/nodal/node-b/status/secret", false},
		{a, "write", "/nodal-members/node-b/record", false},
		{a, "read", "/nodal-members/node-b/record", false},
		{reader, "read", "/nodal-members/node-a/record", true},
		{reader, "read", "/nodal/node-a/pods/web", false},
		{reader, "write", "/nodal-members/node-a/record", false},
	} {
		var err error
		if c.verb == "read" {
			_, err = c.who.Range(t.Context(), &etcdserverpb.RangeRequest{Key: []byte(c.key)})
		} else {
			_, err = c.who.Put(t.Context(), &etcdserverpb.PutRequest{Key: []byte(c.key), Value: []byte("x")})
		}
		if (err == nil) != c.may || err != nil && grpcstatus.Code(err) != codes.PermissionDenied {
			t.Errorf("%s %s: got %v, want that it may is %t", c.verb, c.key, err, c.may)
		}
	}
	if _, err := f.run(strings.ReplaceAll(f.block("status"), "reader", "node-b")); err == nil {
		t.Error("a node that may not read the records of all is shown them")
	}
}

// page is the fleet that docs/FLEET.md makes.
type page struct {
	*world
	text, dir, parts string
	address          string // of etcd
	etcd             program
}

var pageBlock = regexp.MustCompile("(?s)<!-- run: ([a-z]+) -->\n```sh\n(.*?)```")

func newPage(t *testing.T) *page {
	t.Helper()
	text, err := os.ReadFile("../../docs/FLEET.md")
	must(t, err)
	if got, want := len(pageBlock.FindAll(text, -1)), strings.Count(string(text), "```sh\n"); got != want || want == 0 {
		t.Fatalf("%d of %d sh blocks are marked to run, want all", got, want)
	}
	ports, claim, err := agent.ClaimPorts()
	must(t, err)
	t.Cleanup(func() { claim.Close() })
	parts, err := filepath.Abs("../../.cache/parts")
	must(t, err)
	f := &page{world: &world{plane: &plane{t: t}, node: daemon.Start(t, rig.Containerd(t))}, dir: t.TempDir(), parts: parts}
	f.address = fmt.Sprintf("127.0.0.1:%d", ports.Healthz)
	f.text = strings.NewReplacer("10.0.0.1:2379", f.address, "10.0.0.1:2380", fmt.Sprintf("127.0.0.1:%d", ports.ReadOnly), "10.0.0.1", "127.0.0.1",
		"/var/lib/etcd", filepath.Join(f.dir, "etcd"), "/run/nodal/node.sock", f.node.Socket).Replace(string(text))
	return f
}

// block returns the commands of one block of the page, with this test's addresses.
func (f *page) block(name string) string {
	f.t.Helper()
	for _, b := range pageBlock.FindAllStringSubmatch(f.text, -1) {
		if b[1] == name {
			return b[2]
		}
	}
	f.t.Fatalf("the page has no block %q", name)
	return ""
}

// words returns the one command of a block, with its files in the directory of this test.
func (f *page) words(name string) []string {
	words := strings.Fields(strings.ReplaceAll(f.block(name), "\\\n", " "))
	for i, w := range words {
		if strings.HasSuffix(w, ".crt") || strings.HasSuffix(w, ".key") {
			words[i] = filepath.Join(f.dir, w)
		}
	}
	return words
}

// run has a shell run commands in the directory of this test.
func (f *page) run(commands string) (string, error) {
	kubelet, err := agent.Build(f.t.TempDir())
	must(f.t, err)
	ctx, cancel := context.WithTimeout(f.t.Context(), pace.Of(patience))
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", "kubelet() { "+kubelet+" \"$@\"; }\n"+commands)
	cmd.Dir = f.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (f *page) shell(commands string) {
	f.t.Helper()
	if out, err := f.run(commands); err != nil {
		f.t.Fatalf("%v:\n%s\n%s", err, commands, out)
	}
}

// etcdctl carries out what the page has etcdctl do, over etcd's API: the tests' parts have no etcdctl. The shell itself
// expands the loops.
func (f *page) etcdctl(commands string) {
	f.t.Helper()
	said, err := f.run("etcdctl() { echo \"$@\"; }\n" + strings.ReplaceAll(commands, " < ", " "))
	must(f.t, err)
	for line := range strings.Lines(said) {
		words := strings.Fields(line)
		user := "root"
		if words[0] == "--cert" {
			user, words = strings.TrimSuffix(words[1], ".crt"), words[4:]
		}
		words = slices.DeleteFunc(words, func(w string) bool { return w == "--no-password" })
		if err := f.carryOut(user, words); err != nil {
			f.t.Fatalf("etcdctl %s: %v", strings.TrimSpace(line), err)
		}
	}
}

func (f *page) carryOut(user string, words []string) error {
	ctx, conn := f.t.Context(), f.dial(user)
	auth := etcdserverpb.NewAuthClient(conn)
	var err error
	switch verb := strings.Join(words[:min(2, len(words))], " "); {
	case verb == "user add":
		_, err = auth.UserAdd(ctx, &etcdserverpb.AuthUserAddRequest{Name: words[2], Options: &authpb.UserAddOptions{NoPassword: true}})
	case verb == "user grant-role":
		_, err = auth.UserGrantRole(ctx, &etcdserverpb.AuthUserGrantRoleRequest{User: words[2], Role: words[3]})
	case verb == "role add":
		_, err = auth.RoleAdd(ctx, &etcdserverpb.AuthRoleAddRequest{Name: words[2]})
	case verb == "role grant-permission" && words[2] == "--prefix":
		kind := authpb.Permission_Type(authpb.Permission_Type_value[strings.ToUpper(words[4])])
		end := strings.TrimSuffix(words[5], "/") + "0"
		_, err = auth.RoleGrantPermission(ctx, &etcdserverpb.AuthRoleGrantPermissionRequest{
			Name: words[3], Perm: &authpb.Permission{PermType: kind, Key: []byte(words[5]), RangeEnd: []byte(end)},
		})
	case verb == "auth enable":
		_, err = auth.AuthEnable(ctx, &etcdserverpb.AuthEnableRequest{})
	case words[0] == "put":
		var value []byte
		if value, err = os.ReadFile(filepath.Join(f.dir, words[2])); err == nil {
			_, err = etcdserverpb.NewKVClient(conn).Put(ctx, &etcdserverpb.PutRequest{Key: []byte(words[1]), Value: value})
		}
	default:
		err = fmt.Errorf("this test does not know the command")
	}
	return err
}

func (f *page) kv(user string) etcdserverpb.KVClient { return etcdserverpb.NewKVClient(f.dial(user)) }

// dial connects to etcd with the certificate of a user.
func (f *page) dial(user string) *grpc.ClientConn {
	f.t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(f.dir, user+".crt"), filepath.Join(f.dir, user+".key"))
	must(f.t, err)
	ca, err := os.ReadFile(filepath.Join(f.dir, "ca.crt"))
	must(f.t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	conn, err := grpc.NewClient(f.address, grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool})))
	must(f.t, err)
	f.t.Cleanup(func() { conn.Close() })
	return conn
}
