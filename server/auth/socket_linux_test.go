package auth

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"nodal/host/thread"
)

// connectAs dials path from a thread that has become another user. The thread ends with
// its goroutine, so that nothing else runs under the borrowed identity.
func connectAs(t *testing.T, path string, uid, gid int, groups []int) {
	t.Helper()
	if err := thread.Own(func() error { return connectRaw(path, uid, gid, groups) }); err != nil {
		t.Fatal(err)
	}
}

func connectRaw(path string, uid, gid int, groups []int) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := becomeOnThisThread(uid, gid, groups); err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

func TestSocketPeers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	file := filepath.Join(t.TempDir(), "node.sock") // its group decides
	if err := os.WriteFile(file, nil, 0o660); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 0, 4242); err != nil {
		t.Fatal(err)
	}
	many := make([]int, 300)
	for i := range many {
		many[i] = 5000 + i
	}
	f := newFixture(t, func(c *Config) { c.SocketPath = file })
	// An abstract name, which a user without rights in the test's directory can reach.
	l, err := net.Listen("unix", "@nodal-auth-test-"+filepath.Base(filepath.Dir(file))+f.root)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	name := l.Addr().String()

	cases := []struct {
		name     string
		uid, gid int
		groups   []int
		want     Identity
	}{
		{"root is admin", 0, 0, nil, Identity{Name: "uid:0", Role: RoleAdmin}},
		{"a stranger is nobody", 1234, 1234, []int{1234, 7}, Identity{Name: "uid:1234"}},
		{"a member by first group is operator", 1234, 4242, nil, Identity{Name: "uid:1234", Role: RoleOperator}},
		{"a member by another group is operator", 1234, 1234, []int{7, 4242}, Identity{Name: "uid:1234", Role: RoleOperator}},
		{"a member of very many groups is operator", 1234, 1234, append(many, 4242), Identity{Name: "uid:1234", Role: RoleOperator}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			connectAs(t, name, c.uid, c.gid, slices.Clone(c.groups))
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			info, ok := f.PeerInfo(conn).(SocketInfo)
			if !ok || info.Identity.Name != c.want.Name || info.Identity.Role != c.want.Role || info.Identity.Via != "socket" {
				t.Errorf("got %+v, want %+v", info.Identity, c.want)
			}
			if id, ok := f.ConnContext(t.Context(), conn).Value(socketKey{}).(Identity); !ok || id.Name != c.want.Name {
				t.Errorf("HTTP got %+v, want %+v", id, c.want)
			}
		})
	}
}

func TestATCPConnectionHasNoPeer(t *testing.T) {
	f := newFixture(t, nil)
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if info := f.PeerInfo(a); info != nil {
		t.Errorf("got %+v, want nothing", info)
	}
}

// becomeOnThisThread avoids package syscall's calls, which change every thread.
func becomeOnThisThread(uid, gid int, groups []int) error {
	list := make([]uint32, len(groups)+1)
	for i, g := range groups {
		list[i] = uint32(g)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&list[0])), 0)
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid))
	}
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
	}
	if errno != 0 {
		return errno
	}
	return nil
}
