package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodal/host/thread"
	"nodal/server/auth"
)

// caller has a credential, or none.
type caller struct {
	name       string
	user       string // as the audit log names the caller; empty if the credential proves nothing
	role, via  string
	namespaces []string // to which the role is narrowed
	inCluster  string   // the one verb of Kubernetes that a cluster grants

	bearer  string
	cert    *tls.Certificate
	cookie  *http.Cookie
	onPlain bool                     // comes to the ports that ask for no credential
	dial    func() (net.Conn, error) // the socket, for a user of the machine
}

// tries returns the namespaces in which the caller makes its requests.
func (c caller) tries() []string {
	if len(c.namespaces) > 0 {
		return []string{"dev", "prod"}
	}
	return []string{"dev"}
}

// callers returns one of each identity.
func (w *world) callers(t *testing.T) []caller {
	all := []caller{
		{name: "nobody"},
		{name: "a wrong token", bearer: "nodal_wrong"},
		{name: "a token of a cluster that does not know it", bearer: "stranger"},
		{name: "a cluster's user who may get", user: "getter", via: "token", inCluster: "get", bearer: "getter"},
		{name: "a cluster's user who may create", user: "creator", via: "token", inCluster: "create", bearer: "creator"},
		{name: "anybody at a plain port", user: "system:anonymous", role: "viewer", via: "anonymous", onPlain: true},
		{name: "a wrong token at a plain port", user: "system:anonymous", role: "viewer", via: "anonymous", onPlain: true, bearer: "nodal_wrong"},
	}
	for _, role := range []string{"viewer", "operator", "admin"} {
		bearer := w.credential(t, role+".token")
		pair, err := tls.X509KeyPair([]byte(w.credential(t, role+".crt")), []byte(w.credential(t, role+".key")))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all,
			caller{name: role + " by token", user: role, role: role, via: "token", bearer: bearer},
			caller{name: role + " by certificate", user: role, role: role, via: "certificate", cert: &pair},
			caller{name: role + " by session", user: role, role: role, via: "session", cookie: w.signIn(t, bearer)},
		)
	}
	for _, role := range []string{"viewer", "operator"} {
		secret := w.newToken(t, auth.NewToken{Name: "narrow-" + role, Role: auth.Role(role), Namespaces: []string{"dev"}})
		narrowed := caller{name: "a narrowed " + role, user: "narrow-" + role, role: role, via: "token", namespaces: []string{"dev"}, bearer: secret}
		browser := narrowed
		browser.name, browser.via, browser.bearer, browser.cookie = narrowed.name+" by session", "session", "", w.signIn(t, secret)
		all = append(all, narrowed, browser)
	}
	return append(append(all, w.ended(t)...), w.onSocket(t)...)
}

// newToken makes a token that ends with the test.
func (w *world) newToken(t *testing.T, wanted auth.NewToken) (secret string) {
	t.Helper()
	secret, _, err := w.guard.CreateToken(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.guard.RevokeToken(wanted.Name) }) // the test may have done it
	return secret
}

// ended returns callers whose credentials were good once.
func (w *world) ended(t *testing.T) []caller {
	revoked := w.newToken(t, auth.NewToken{Name: "revoked", Role: auth.RoleAdmin})
	session := w.signIn(t, revoked)
	if err := w.guard.RevokeToken("revoked"); err != nil {
		t.Fatal(err)
	}
	expired := w.newToken(t, auth.NewToken{Name: "expired", Role: auth.RoleAdmin, Lifetime: time.Nanosecond})
	return []caller{
		{name: "a revoked token", bearer: revoked},
		{name: "a session of a revoked token", cookie: session},
		{name: "an expired token", bearer: expired},
	}
}

// onSocket returns users of the machine. Only root can be several of them.
func (w *world) onSocket(t *testing.T) []caller {
	as := func(uid, gid int) func() (net.Conn, error) {
		return func() (net.Conn, error) { return dialAs(uid, gid, w.socket) }
	}
	own := fmt.Sprintf("uid:%d", os.Geteuid())
	all := []caller{{name: "the agent's own user", user: own, role: "admin", via: "socket", dial: as(os.Geteuid(), os.Getegid())}}
	if os.Geteuid() != 0 {
		t.Log("other users of the machine are left out: only root can be them")
		return all
	}
	const group, member, other = 4242, 4343, 4444
	if err := os.Chown(w.socket, -1, group); err != nil {
		t.Fatal(err)
	}
	viewer := w.credential(t, "viewer.token")
	return append(all,
		caller{name: "a member of the socket's group", user: "uid:4343", role: "operator", via: "socket", dial: as(member, group)},
		caller{name: "another user of the machine", user: "uid:4444", via: "socket", dial: as(other, other)},
		caller{name: "another user with a token", user: "viewer", role: "viewer", via: "token", bearer: viewer, dial: as(other, other)},
		caller{name: "another user with a wrong token", bearer: "nodal_wrong", dial: as(other, other)},
	)
}

// dialAs dials a socket as a user of the machine, by a thread of its own.
func dialAs(uid, gid int, socket string) (conn net.Conn, err error) {
	if uid == os.Geteuid() {
		return net.Dial("unix", socket)
	}
	err = thread.Own(func() error {
		for _, call := range [][4]uintptr{
			{unix.SYS_SETGROUPS},
			{unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)},
			{unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)},
		} {
			if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				return errno
			}
		}
		conn, err = net.Dial("unix", socket)
		return err
	})
	return conn, err
}
